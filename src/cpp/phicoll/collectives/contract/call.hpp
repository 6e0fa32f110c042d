#pragma once

// One call of a collective that moves data, as an algorithm gets it: arguments checked, buffers bound, "in
// place" resolved.

#include <cstddef>
#include <cstdint>

#include "phicoll/collectives/contract/operation.hpp"
#include "phicoll/memory/data.hpp"

namespace phicoll {

/// The blocks of a vector version: block i has counts[i] bytes and begins at byte displacements[i] of its
/// buffer. For reduce_scatter both count elements.
struct Blocks {
  const std::size_t* counts = nullptr;
  const std::size_t* displacements = nullptr;
};

/// One rank's call of P ranks:
///
///     broadcast       receive: `count` bytes, the root's message, filled in elsewhere
///     reduce          send: `count` elements; receive on the root (else null), may be send
///     allreduce, scan send, receive: `count` elements, may be the same place
///     gather          send: `count` bytes; receive on the root: P blocks in rank order
///     scatter         send on the root: P blocks of `count` bytes; receive: one block
///     allgather       send: `count` bytes; receive: P blocks
///     alltoall        send, receive: P blocks of `count` bytes, never overlapping
///     reduce_scatter  send: P blocks of `count` elements; receive: one block, may lie in send
struct Call {
  Data send;
  Data receive;
  // At most 80 bytes: compilers clear larger objects by an instruction as slow as a small call.
  //
  // `exclusive` scans leave out the rank's own elements and do not touch rank 0's receive. In place, gather,
  // scatter and allgather have one's own block where it belongs among the P blocks.
  //
  // In a `vector` version `blocks` describes the receiving side (in scatter and reduce_scatter the sending
  // side). All ranks know it in allgather and reduce_scatter. In gather and scatter only the root does;
  // others have null. In alltoall each rank knows its own, and send_blocks describes what it sends.
  std::size_t count = 0;
  int root = 0;
  bool exclusive = false;
  bool vector = false;  ///< a vector version, even if this rank does not know the blocks
  /// A 16-bit hash of what all ranks must agree on (operation, root, type, size) in this call and all before
  /// it. Ranks whose tags differ do not take each other's data; they wait until the group finds the mismatch.
  std::uint64_t tag = 0;
  Operator op;
  const Blocks* blocks = nullptr;
  const Blocks* send_blocks = nullptr;

  std::size_t bytes() const { return op.element_bytes != 0 ? count * op.element_bytes : count; }
  /// Whether a rank's own operand is still in `send` at its turn, if operands are combined in rank order into
  /// `receive`. In a call in place, earlier ranks' results have overwritten it by then.
  bool keeps_operand(int rank) const { return rank < 2 || send != receive; }
  /// How many of a reduction's elements fit into `piece` bytes. If all do, this takes no division, which
  /// would be slow beside a small call.
  std::size_t elements_within(std::size_t piece) const {
    return __builtin_expect(bytes() <= piece, 1) ? count : piece / op.element_bytes;
  }
  /// The size of block i on the side that `blocks` describes, in bytes (elements for reduce_scatter).
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

/// What all ranks know about a call; a Call also has one rank's data. Algorithms are chosen or refused by
/// these facts alone. Two words, so that registers hold them.
struct CallFacts {
  /// The bytes of the count argument: the message, or one block; in a vector version the mean block, if all
  /// know it.
  std::size_t bytes = 0;
  Operation operation = Operation::barrier;
  bool vector = false;      ///< a vector version: counts differ
  bool exclusive = false;   ///< a scan without the rank's own elements
  bool known = true;        ///< all ranks know all counts; false for gatherv, scatterv and alltoallv
  bool commutative = true;  ///< whether the operator is; true if there is none
  bool associative = true;  ///< whether the operator is; true if there is none
  /// Where it is not: whether the caller asks for one order, operands one by one from rank 0 on.
  bool in_rank_order = false;
};
static_assert(sizeof(void*) != 8 || sizeof(CallFacts) <= 16, "see above");

}  // namespace phicoll
