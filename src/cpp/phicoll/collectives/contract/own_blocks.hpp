#pragma once

// The blocks of a vector version in arrays of their own, for calls that outlive the arrays they were given.

#include <cstddef>
#include <vector>

#include "phicoll/collectives/contract/call.hpp"

namespace phicoll {

/// Not to be moved while a call refers to it.
struct OwnBlocks {
  std::vector<std::size_t> counts, displacements;

  /// Blocks that refer to the present arrays.
  const Blocks* refer() {
    blocks_ = Blocks{counts.data(), displacements.data()};
    return &blocks_;
  }
  /// Copies the blocks of `ranks` ranks, which may have no displacements, and refers to the copies.
  const Blocks* keep(const Blocks& from, int ranks) {
    counts.assign(from.counts, from.counts + ranks);
    if (from.displacements != nullptr) displacements.assign(from.displacements, from.displacements + ranks);
    return refer();
  }

 private:
  Blocks blocks_;
};

}  // namespace phicoll
