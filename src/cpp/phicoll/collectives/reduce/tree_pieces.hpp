#pragma once

// What the papers' reductions up a tree have in common: a call goes through in pieces, of which a rank
// combines its own operand and its children's, in a block of its own of shared memory or, on the root, where
// the result belongs. Steps (pieces) count from 0 over all calls, alike on all ranks. What differs is the
// tree, and how a child hands its piece on.

#include <cstdint>
#include <vector>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/memory/data.hpp"

namespace phicoll {

/// Trees are laid out for root 0; rank r is node (r - root) mod P of them.
inline int node_of(int rank, int root, int ranks) {
  return rank >= root ? rank - root : rank - root + ranks;
}
inline int rank_of(int node, int root, int ranks) {
  return node + root < ranks ? node + root : node + root - ranks;
}

template <class Port>
class TreePieces {
 protected:
  /// Pieces of at most `piece` bytes, blocks of `block` bytes.
  TreePieces(const Setup& setup, std::size_t piece, std::size_t block)
      : memory_(setup.memory), piece_(piece), block_(block), rank_(setup.rank), ranks_(setup.size()) {}

  /// turn_to(root) before the first piece for another root; through(offset in bytes, elements) for each
  /// piece.
  template <class TurnTo, class Through>
  void each_piece(Port& port, const Call& call, TurnTo turn_to, Through through) {
    if (ranks_ == 1) {
      if (call.send != call.receive) port.move(call.receive, call.send, call.bytes());
      return;
    }
    if (call.root != root_) {
      root_ = call.root;
      turn_to(call.root);
    }
    const std::size_t size = call.op.element_bytes;
    const std::size_t most = piece_ / size;
    for (std::size_t first = 0; first < call.count; first += most, ++step_)
      through(first * size, call.count - first < most ? call.count - first : most);
  }

  void take_children(std::vector<int> nodes) {
    children_ = std::move(nodes);
    for (int& child : children_) child = rank_of(child, root_, ranks_);
  }
  int node() const { return node_of(rank_, root_, ranks_); }

  /// Combines this rank's operand with its children's into `result`: await(child) says where a child's lies,
  /// and taken(child) that it has been read.
  template <class Await, class Taken>
  void combine_children(Port& port, const Call& call, std::size_t at, std::size_t count, Data result,
                        Await await, Taken taken) {
    Data left = call.send + at;
    for (const int child : children_) {
      port.combine(call.op, result, left, await(child), count);
      taken(child);
      left = result;
    }
    if (children_.empty()) port.move(result, left, count * call.op.element_bytes);
  }

  unsigned char* block(int rank) const { return memory_ + static_cast<std::size_t>(rank) * block_; }

  unsigned char* memory_;
  std::vector<int> children_;
  std::size_t piece_;
  std::size_t block_;
  std::uint64_t step_ = 0;
  int rank_;
  int ranks_;
  int root_ = -1;
};

}  // namespace phicoll
