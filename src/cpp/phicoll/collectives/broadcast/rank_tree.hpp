#pragma once

// Trees over relative ranks (the root is 0): each rank's parent and its children in order. Ranks are
// numbered so that a parent serves its children in ascending order.

#include <cstddef>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "phicoll/collectives/barrier/k_nomial_tree.hpp"
#include "phicoll/collectives/structure/level_tree.hpp"

namespace phicoll {

class RankTree {
 public:
  /// parents[r] < r for each rank r > 0; parents[0] is not looked at.
  explicit RankTree(std::vector<int> parents) : parents_(std::move(parents)) {
    begins_.assign(parents_.size() + 1, 0);
    for (std::size_t r = 1; r < parents_.size(); ++r) ++begins_[static_cast<std::size_t>(parents_[r]) + 1];
    for (std::size_t r = 1; r < begins_.size(); ++r) begins_[r] += begins_[r - 1];
    children_.resize(parents_.empty() ? 0 : parents_.size() - 1);
    std::vector<std::size_t> next(begins_.begin(), begins_.end());
    for (std::size_t r = 1; r < parents_.size(); ++r)
      children_[next[static_cast<std::size_t>(parents_[r])]++] = static_cast<int>(r);
  }

  int size() const { return static_cast<int>(parents_.size()); }
  /// Of a rank > 0.
  int parent(int rank) const { return parents_[static_cast<std::size_t>(rank)]; }
  const int* begin(int rank) const { return children_.data() + begins_[static_cast<std::size_t>(rank)]; }
  const int* end(int rank) const { return children_.data() + begins_[static_cast<std::size_t>(rank) + 1]; }

 private:
  std::vector<int> parents_;
  std::vector<std::size_t> begins_;  // of each rank's children, and the end
  std::vector<int> children_;
};

/// All others are children of the root.
inline RankTree flat_tree(int ranks) {
  return RankTree(std::vector<int>(static_cast<std::size_t>(ranks), 0));
}

/// Phase by phase every informed rank informs `degree` - 1 others (velamati-2007 section 3.2); degree 2 is
/// the binomial tree, degree 1 a chain, which the paper calls pipelined.
inline RankTree k_nomial_tree(int ranks, int degree) {
  std::vector<int> parents(static_cast<std::size_t>(ranks), 0);
  for (int r = 1; r < ranks; ++r)
    parents[static_cast<std::size_t>(r)] = degree == 1 ? r - 1 : k_nomial_parent(degree, r);
  return RankTree(std::move(parents));
}

/// The greedy tree of the LogP model: an informed rank sends every `overhead`; a receiver may send
/// 2 overhead + latency later. Ranks are numbered in the order in which they are sent to.
inline RankTree fibonacci_tree(int ranks, long overhead, long latency) {
  std::vector<int> parents(static_cast<std::size_t>(ranks), 0);
  using Turn = std::pair<long, int>;  // when a rank may send next
  std::priority_queue<Turn, std::vector<Turn>, std::greater<Turn>> turns;
  turns.emplace(0, 0);
  for (int r = 1; r < ranks; ++r) {
    const Turn turn = turns.top();
    turns.pop();
    parents[static_cast<std::size_t>(r)] = turn.second;
    turns.emplace(turn.first + overhead, turn.second);
    turns.emplace(turn.first + 2 * overhead + latency, r);
  }
  return RankTree(std::move(parents));
}

/// A rank of level i - 1 has at most counts[i - 1] children (see level_tree.hpp).
inline RankTree level_tree(int ranks, const std::vector<int>& counts) {
  std::vector<int> parents(static_cast<std::size_t>(ranks), 0);
  for (int r = 1; r < ranks; ++r)
    parents[static_cast<std::size_t>(r)] = level_tree_node(counts, ranks, r).parent;
  return RankTree(std::move(parents));
}

}  // namespace phicoll
