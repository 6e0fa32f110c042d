#pragma once

// Small things that the papers' reductions share.

#include <cstddef>

#include "phicoll/arch/arch.hpp"

namespace phicoll {

/// Trees are laid out for root 0; rank r is node (r - root) mod P of them.
inline int node_of(int rank, int root, int ranks) {
  return rank >= root ? rank - root : rank - root + ranks;
}
inline int rank_of(int node, int root, int ranks) {
  return node + root < ranks ? node + root : node + root - ranks;
}

}  // namespace phicoll
