#pragma once

// Passes a reduce-scatter's blocks, of any lengths, through buffers of a fixed size, in portions. A
// portion takes as many elements as fit from every block of a range of ranks, or one from each of as many
// blocks as fit. All ranks know all counts and so form the same portions.
//
// In place, the result lies at the front of the blocks. A portion from element `at` of the blocks has its
// result there. Later portions need only what lies after it. So a rank that reads its portion of all blocks
// before storing the result destroys nothing.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "phicoll/collectives/contract/call.hpp"

namespace phicoll {

/// Elements [at, at + most) of the blocks of ranks [first, end), as far as a block goes.
struct BlockPortion {
  std::size_t at;
  std::size_t most;
  int first;
  int end;

  std::size_t count(const Call& call, int block) const {
    if (block < first || block >= end || at >= call.block_count(block)) return 0;
    return std::min(most, call.block_count(block) - at);
  }
};

/// portion(BlockPortion) for all of the call, `elements` elements of all blocks together at once.
template <class Portion>
void for_portions(const Call& call, int ranks, std::size_t elements, Portion portion) {
  std::size_t longest = 0;
  for (int r = 0; r < ranks; ++r) longest = std::max(longest, call.block_count(r));
  const auto blocks = static_cast<int>(std::min(static_cast<std::size_t>(ranks), elements));
  const std::size_t most = std::max<std::size_t>(1, elements / static_cast<std::size_t>(ranks));
  for (std::size_t at = 0; at < longest; at += most)
    for (int first = 0; first < ranks; first += blocks)
      portion(BlockPortion{at, most, first, std::min(ranks, first + blocks)});
}

}  // namespace phicoll
