#pragma once

// One call of a collective that moves data, as an algorithm gets it: arguments checked, buffers bound, "in
// place" resolved.

#include <cstddef>
#include <cstdint>

#include "phicoll/collectives/contract/operation.hpp"
#include "phicoll/memory/data.hpp"

namespace phicoll {

/// Of a vector version: block i has counts[i] bytes (elements, for reduce_scatter) and begins
/// displacements[i] bytes (elements) behind its buffer.
struct Blocks {
  const std::size_t* counts = nullptr;
  const std::size_t* displacements = nullptr;
};

/// What the members mean for each operation (P ranks, `bytes` = count * op.element_bytes for reductions):
///
///   broadcast       receive: `count` bytes, the message on the root, filled in on the others
///   reduce          send, `count` elements; receive on the root (null elsewhere), may be send itself
///   allreduce       send, receive: `count` elements; may be the same place
///   gather          send: `count` bytes; receive on the root: P blocks in rank order; send may be the rank's
///                   own block in receive
///   scatter         send on the root: P blocks of `count` bytes; receive: one block, may be the root's own
///   allgather       send: `count` bytes; receive: P blocks; send may be the rank's own block in receive
///   alltoall        send, receive: P blocks of `count` bytes, never overlapping
///   scan            send, receive: `count` elements; may be the same place; `exclusive`: without the rank's
///                   own elements, and then rank 0's receive is not touched
///   reduce_scatter  send: P blocks of `count` elements, receive: the rank's block; receive may be a part of
///                   send
///
/// In a `vector` version `blocks` describes the receiving side (send, for scatter and reduce_scatter).
/// gather: known to the root only, the others have `count` and null; scatter likewise; allgather,
/// reduce_scatter: known to all; alltoall: each knows its own, and send_blocks describes its send.
///
/// Of eighty bytes: more than that compilers clear with an instruction that takes as long as all else of a
/// small call.
struct Call {
  Data send;
  Data receive;
  std::size_t count = 0;
  int root = 0;
  bool exclusive = false;
  bool vector = false;  ///< a vector version, also where the rank does not know the blocks
  /// 16 bits of what all ranks must agree on (operation, root, type, size) in this call and in all before it.
  /// Ranks whose calls have not fitted do not take each other's data: they wait until the group finds out
  /// why.
  std::uint64_t tag = 0;
  Operator op;
  const Blocks* blocks = nullptr;
  const Blocks* send_blocks = nullptr;

  std::size_t bytes() const { return op.element_bytes != 0 ? count * op.element_bytes : count; }
  /// Whether a rank's own operand is still in `send` when operands are combined in rank order into `receive`.
  /// In place, what the first ranks have given is written over it before its turn comes.
  bool keeps_operand(int rank) const { return rank < 2 || send != receive; }
  /// How many of a reduction's elements a piece of so many bytes takes: all of them without a division, which
  /// takes long beside a small call.
  std::size_t elements_within(std::size_t piece) const {
    return __builtin_expect(bytes() <= piece, 1) ? count : piece / op.element_bytes;
  }
  /// Of block i of the side that `blocks` describes, in bytes (elements for reduce_scatter).
  std::size_t block_count(int i) const { return blocks != nullptr ? blocks->counts[i] : count; }
  std::size_t block_at(int i) const { return place_of(blocks, i); }
  std::size_t send_block_count(int i) const {
    return send_blocks != nullptr ? send_blocks->counts[i] : count;
  }
  std::size_t send_block_at(int i) const { return place_of(send_blocks, i); }

 private:
  std::size_t place_of(const Blocks* of, int i) const {
    return of != nullptr ? of->displacements[i] : static_cast<std::size_t>(i) * count;
  }
};
static_assert(sizeof(void*) != 8 || sizeof(Call) <= 80, "see above");

/// What every rank knows alike of a call: the ground on which an algorithm is chosen or refused.
struct CallFacts {
  Operation operation = Operation::barrier;
  /// Of the count argument: the message, or one block. Of a vector version the mean block where all know it.
  std::size_t bytes = 0;
  bool vector = false;      ///< a vector version: counts differ
  bool known = true;        ///< all ranks know all counts; false for gatherv, scatterv and alltoallv
  bool commutative = true;  ///< of the operator, true where there is none
  bool associative = true;  ///< likewise
};

}  // namespace phicoll
