#pragma once

// Finds the counts of children k_1, k_2, ... of a tree of levels (level_tree.hpp) that cost least under a
// model, in integers, so that every rank, the card and Python find the same tree. Source:
// ramos-hoefler-2013 equations 4.3, 4.7 and 4.13 and appendix B.
//
// 1. k_1 children of a root need subtrees of ceil((n - 1) / k_1) nodes, so the least cost over all orders is
//    a short recursion.
// 2. It bounds each order; a lexicographic search pruned by it hardly ever backtracks.
// 3. A count larger than its level needs is skipped: it only costs more.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace phicoll {

/// The cost of a tree: `tree`, plus level + child k - shared / k for each level with k children per parent.
/// The unit is the caller's.
struct LevelCost {
  std::int64_t tree = 0;    ///< once per tree
  std::int64_t level = 0;   ///< at least -child, so that no level costs less than nothing
  std::int64_t child = 1;   ///< at least 1
  std::int64_t shared = 0;  ///< 0 to level + child: what the children of a parent save together

  std::int64_t of(int k) const { return level + child * k - shared / k; }
  std::int64_t of(const std::vector<int>& levels) const {
    std::int64_t sum = tree;
    for (const int k : levels) sum += of(k);
    return sum;
  }
};

/// The order that the counts must have: `falling`, k_i >= k_{i+1}, as in the paper's text and tables, or
/// `rising`, as printed in equations 4.7 and B.1.
enum class LevelOrder : unsigned char { falling, rising, any };

class LevelOptimum {
 public:
  static constexpr int most_levels = 16;

  /// `levels`, from 1 to most_levels, bounds the depth. A single level holds any number of nodes.
  LevelOptimum(const LevelCost& cost, LevelOrder order, int levels);

  /// The cheapest levels that hold `nodes` nodes, of equal ones the first in lexicographic order. Empty for
  /// one node.
  std::vector<int> first(int nodes);
  /// All cheapest levels in lexicographic order, but at most `most`.
  std::vector<std::vector<int>> all(int nodes, std::size_t most);

 private:
  struct Search;
  /// The least cost, without `tree`, of at most `levels` levels in any order.
  std::int64_t bound(int nodes, int levels);
  std::int64_t known_bound(int nodes, int levels) const;
  void search(int nodes, int levels, std::int64_t cost, Search& found) const;

  LevelCost cost_;
  LevelOrder order_;
  int levels_;
  std::vector<std::vector<std::int64_t>> bounds_;  // by levels and nodes; -1: not computed
};

}  // namespace phicoll
