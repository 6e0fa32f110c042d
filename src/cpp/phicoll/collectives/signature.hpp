#pragma once

// What must be the same on all ranks in one call of a collective, in 64 bits: the operation, the root, type
// and operator, the size. Not what may differ: a rank's own counts in gatherv, scatterv and alltoallv, where
// buffers lie, "in place".

#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/collectives/call.hpp"
#include "phicoll/collectives/operation.hpp"
#include "phicoll/memory/call_board.hpp"

namespace phicoll {

/// From the lowest bit: operation 4, vector 1, exclusive 1, root 11 (0: none, else the rank plus one), type
/// 8, operator 4, size 34 (0: it need not agree; below 2^33 the size plus one; else 2^33 and a hash of it). A
/// barrier is 0.
class CallSignature {
 public:
  /// The operation's number for the splitting of a communicator.
  static constexpr SignatureWord split = 15;

  static SignatureWord of(const CallFacts& facts, const Call& call) {
    const Operation operation = facts.operation;
    const bool rooted = operation == Operation::broadcast || operation == Operation::reduce ||
                        operation == Operation::gather || operation == Operation::scatter;
    SignatureWord word = static_cast<SignatureWord>(operation);
    word |= static_cast<SignatureWord>(facts.vector) << 4;
    word |= static_cast<SignatureWord>(call.exclusive) << 5;
    if (rooted) word |= static_cast<SignatureWord>(call.root + 1) << 6;
    word |= static_cast<SignatureWord>(call.op.id >> 8) << 17;
    word |= static_cast<SignatureWord>(call.op.id & 0xfu) << 25;
    if (facts.known) word |= size_field(facts.bytes) << 29;
    return word;
  }

  /// 16 bits of it, for the lines through which a call's data goes.
  static std::uint64_t tag(SignatureWord word) { return (word * 0x9e3779b97f4a7c15ull) >> 48; }

  /// "broadcast(root 0, 4096 bytes)"
  static std::string in_words(SignatureWord word);

 private:
  static constexpr SignatureWord exact_sizes = SignatureWord{1} << 33;
  static SignatureWord size_field(std::size_t bytes) {
    const SignatureWord size = bytes;
    if (__builtin_expect(size < exact_sizes - 1, 1)) return size + 1;
    return exact_sizes | ((size * 0x9e3779b97f4a7c15ull) >> 31);
  }
};

}  // namespace phicoll
