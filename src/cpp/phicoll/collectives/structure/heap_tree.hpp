#pragma once

// The heap tree: rank 0 is the root, the children of rank r are degree * r + i for 1 <= i <= degree, below
// `ranks`. Source: panigrahi-2014 section V, which prints "1 <= i <= P" for the second bound. Its depth is
// about log_degree of the ranks, and a rank releases its children one after the other.

#include <vector>

namespace phicoll {

inline std::vector<int> heap_children(int ranks, int degree, int rank) {
  std::vector<int> children;
  for (int i = 1; i <= degree; ++i) {
    const int child = degree * rank + i;
    if (child >= ranks) break;
    children.push_back(child);
  }
  return children;
}

/// A degree larger than useful acts as the largest useful one: all others are children of rank 0.
inline void limit_heap_degree(int& degree, int ranks) {
  const int useful = ranks > 3 ? ranks - 1 : 2;
  if (degree > useful) degree = useful;
}

/// For rank > 0.
inline int heap_parent(int degree, int rank) {
  return (rank - 1) / degree;
}

}  // namespace phicoll
