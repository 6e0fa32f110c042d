#pragma once

// The signature of a call: 64 bits that must be the same on all ranks. It packs operation, root, type and
// operator, size and algorithm. It leaves out what may differ: where buffers lie, "in place", and in gatherv,
// scatterv and alltoallv a rank's own counts and type. There each message gives its length and type
// (mailbox.hpp).

#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/operation.hpp"
#include "phicoll/memory/call_history.hpp"

namespace phicoll {

/// A field of a signature's word.
struct SignatureField {
  unsigned at;
  unsigned bits;

  constexpr SignatureWord mask() const { return ((SignatureWord{1} << bits) - 1) << at; }
  constexpr SignatureWord of(SignatureWord word) const { return (word & mask()) >> at; }
  /// The next field.
  constexpr SignatureField then(unsigned width) const { return SignatureField{at + bits, width}; }
};

/// The signature of a call. A barrier's is 0.
namespace call_signature {

constexpr SignatureField operation{0, 4};
constexpr SignatureField vector = operation.then(1);
constexpr SignatureField exclusive = vector.then(1);
constexpr SignatureField root = exclusive.then(11);  ///< 0: none, else the rank plus one
constexpr SignatureField type = root.then(type_bits);
constexpr SignatureField op = type.then(4);
constexpr SignatureField algorithm = op.then(11);    ///< Family::number
constexpr SignatureField size = algorithm.then(26);  ///< see size_of
static_assert(size.at + size.bits == 64, "the word is full");

/// The number that takes an operation's place when a communicator is split.
constexpr SignatureWord split = 15;
/// The same in a call of these ranks that another library serves, such as the MPI under which phicoll is
/// preloaded. The operation's number is at `op` then.
constexpr SignatureWord elsewhere = 14;

/// The signature of such a call.
inline SignatureWord of_elsewhere(const CallFacts& facts) {
  return elsewhere | static_cast<SignatureWord>(facts.vector) << vector.at |
         static_cast<SignatureWord>(facts.exclusive) << exclusive.at |
         static_cast<SignatureWord>(facts.operation) << op.at;
}

/// All but the algorithm and the size.
inline SignatureWord what(const CallFacts& facts, const Call& call) {
  SignatureWord word = static_cast<SignatureWord>(facts.operation);
  word |= static_cast<SignatureWord>(facts.vector) << vector.at;
  if (row_of(facts.operation).exclusive_name != nullptr)
    word |= static_cast<SignatureWord>(call.exclusive) << exclusive.at;
  if (row_of(facts.operation).rooted) word |= static_cast<SignatureWord>(call.root + 1) << root.at;
  if (!facts.known) return word;
  word |= static_cast<SignatureWord>(call.op.id >> 8) << type.at;
  return word | static_cast<SignatureWord>(call.op.id & 0xfu) << op.at;
}

/// The call's root; any_rank if it has none.
inline int root_of(SignatureWord word) {
  return static_cast<int>(root.of(word)) - 1;
}
/// Whether all others wait for the call's root; in other calls with one it waits for them.
inline bool root_gives(SignatureWord word) {
  if (root.of(word) == 0 || operation.of(word) >= operations) return false;  // or overwritten
  const Part sends = row_of(static_cast<Operation>(operation.of(word))).sends;
  return sends == Part::root_block || sends == Part::root_blocks;
}

/// The size field: 0 if sizes need not agree; below 2^25 the bytes plus one; with `inexact` alone an exponent
/// of 5 bits and a mantissa of 19; with `hashed` a hash of the bytes, or of all counts where each block has
/// its own.
constexpr SignatureWord inexact = SignatureWord{1} << 25;
constexpr SignatureWord hashed = inexact | SignatureWord{1} << 24;
SignatureWord large_size(std::size_t bytes);
inline SignatureWord size_of(std::size_t bytes) {
  if (__builtin_expect(bytes < inexact - 1, 1)) return bytes + 1;
  return large_size(bytes);
}
SignatureWord size_of_counts(const Call& call, int ranks);

/// The signature of a call among `ranks`. `by` is the Family::mark of the algorithm that serves it.
inline SignatureWord of(const CallFacts& facts, const Call& call, int ranks, SignatureWord by) {
  const SignatureWord word = what(facts, call) | (by & algorithm.mask());
  if (!facts.known) return word;
  return word | (facts.vector ? size_of_counts(call, ranks) : size_of(facts.bytes)) << size.at;
}

/// Distinguishes calls of equal facts().bytes: those with equal likeness are served alike and have the same
/// signature, but for the counts in it of a vector version that all ranks know. Never 0.
inline SignatureWord likeness(const CallFacts& facts, const Call& call) {
  SignatureWord word = what(facts, call);
  word |= static_cast<SignatureWord>(facts.commutative) << size.at;
  return word | static_cast<SignatureWord>(facts.associative) << (size.at + 1);
}

/// A text such as "broadcast(root 0, 4096 bytes)". It names the algorithm if nothing else differs from
/// `other`.
std::string in_words(SignatureWord word, SignatureWord other);

}  // namespace call_signature

}  // namespace phicoll
