#pragma once

// What must be the same on all ranks in one call of a collective, in 64 bits: the operation, the root, type
// and operator, the size, the algorithm. Not what may differ: a rank's own counts in gatherv, scatterv and
// alltoallv, and its type there, where it may have nothing (what goes from one rank to another says its
// length and type itself, see mailbox.hpp), where buffers lie, "in place".

#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/collectives/call.hpp"
#include "phicoll/collectives/operation.hpp"
#include "phicoll/memory/call_history.hpp"

namespace phicoll {

/// From the lowest bit: operation 4, vector 1, exclusive 1, root 11 (0: none, else the rank plus one), type
/// 6, operator 4, algorithm 11 (Family::number), size 26 (see size_field). A barrier is 0.
class CallSignature {
 public:
  /// The operation's number for the splitting of a communicator.
  static constexpr SignatureWord split = 15;
  /// Where the algorithm stands.
  static constexpr unsigned algorithm_at = 27;

  /// Of a call between `ranks`; `algorithm`: who serves it, Family::number shifted to its place.
  static SignatureWord of(const CallFacts& facts, const Call& call, int ranks, SignatureWord algorithm) {
    const Operation operation = facts.operation;
    const bool rooted = operation == Operation::broadcast || operation == Operation::reduce ||
                        operation == Operation::gather || operation == Operation::scatter;
    SignatureWord word = static_cast<SignatureWord>(operation) | algorithm;
    word |= static_cast<SignatureWord>(facts.vector) << 4;
    word |= static_cast<SignatureWord>(call.exclusive) << 5;
    if (rooted) word |= static_cast<SignatureWord>(call.root + 1) << 6;
    if (!facts.known) return word;
    word |= static_cast<SignatureWord>(call.op.id >> 8) << 17;
    word |= static_cast<SignatureWord>(call.op.id & 0xfu) << 23;
    word |= (facts.vector ? counts_field(call, ranks) : size_field(facts.bytes)) << 38;
    return word;
  }

  /// "broadcast(root 0, 4096 bytes)"; with the algorithm where that alone is not as in `other`.
  static std::string in_words(SignatureWord word, SignatureWord other);

 private:
  // 0: it need not agree; below 2^25 the bytes plus one. Above it is what the highest bits say: `inexact`
  // alone, an exponent of 5 bits and 19 more, the number itself; or `hashed`, which is also that of all
  // counts where each block has its own.
  static constexpr SignatureWord inexact = SignatureWord{1} << 25;
  static constexpr SignatureWord hashed = inexact | SignatureWord{1} << 24;
  static SignatureWord size_field(std::size_t bytes) {
    if (__builtin_expect(bytes < inexact - 1, 1)) return bytes + 1;
    return large_size_field(bytes);
  }
  static SignatureWord large_size_field(std::size_t bytes);
  static SignatureWord counts_field(const Call& call, int ranks);
};

}  // namespace phicoll
