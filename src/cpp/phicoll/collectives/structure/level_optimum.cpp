#include "phicoll/collectives/structure/level_optimum.hpp"

#include <limits>

namespace phicoll {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max() / 4;
constexpr std::int64_t unknown = -1;

/// Nodes of the largest subtree below a root with k children.
int subtree(int nodes, int k) {
  return (nodes - 1 + k - 1) / k;
}
/// The smallest k whose subtrees have at most `in_subtree` nodes.
int fewest_children(int nodes, int in_subtree) {
  return (nodes - 1 + in_subtree - 1) / in_subtree;
}

}  // namespace

struct LevelOptimum::Search {
  std::int64_t least = never;
  bool ties = false;  // also collect trees of equal cost
  std::size_t most = 1;
  std::vector<int> levels;  // the counts chosen so far
  std::vector<std::vector<int>> best;
};

LevelOptimum::LevelOptimum(const LevelCost& cost, LevelOrder order, int levels)
    : cost_(cost), order_(order), levels_(levels), bounds_(static_cast<std::size_t>(levels) + 1) {}

std::int64_t LevelOptimum::bound(int nodes, int levels) {
  if (nodes <= 1) return 0;
  if (levels == 0) return never;
  std::vector<std::int64_t>& row = bounds_[static_cast<std::size_t>(levels)];
  const auto at = static_cast<std::size_t>(nodes);
  if (row.size() <= at) row.resize(at + 1, unknown);
  if (row[at] != unknown) return row[at];
  std::int64_t least = never;
  for (int k = 1; k < nodes;) {
    const int rest = subtree(nodes, k);
    const std::int64_t cost = cost_.of(k) + bound(rest, levels - 1);
    if (cost < least) least = cost;
    if (rest == 1) break;
    k = fewest_children(nodes, rest - 1);
  }
  row[at] = least;  // `row` is still valid: the recursion resizes other rows only
  return least;
}

/// A bound that bound() has already computed: the search visits no other sizes.
std::int64_t LevelOptimum::known_bound(int nodes, int levels) const {
  if (nodes <= 1) return 0;
  if (levels == 0) return never;
  return bounds_[static_cast<std::size_t>(levels)][static_cast<std::size_t>(nodes)];
}

/// `nodes` is the size of each subtree of the next level.
void LevelOptimum::search(int nodes, int levels, std::int64_t cost, Search& found) const {
  if (nodes <= 1) {
    if (cost < found.least) found.best.clear();
    if (cost < found.least || (found.ties && found.best.size() < found.most))
      found.best.push_back(found.levels);
    found.least = cost;
    return;
  }
  if (levels == 0) return;
  const int above = found.levels.empty() ? 0 : found.levels.back();
  for (int k = 1, next = 1; next != 0; k = next) {
    const int rest = subtree(nodes, k);
    next = rest > 1 ? fewest_children(nodes, rest - 1) : 0;
    // All counts from k to next - 1 leave equal subtrees: take the fewest that the order allows.
    int taken = k;
    if (order_ == LevelOrder::rising && taken < above) taken = above;
    if (next != 0 && taken >= next) continue;
    if (order_ == LevelOrder::falling && above != 0 && taken > above) return;
    const std::int64_t to = cost + cost_.of(taken);
    const std::int64_t end = to + known_bound(rest, levels - 1);
    if (found.ties ? end > found.least : end >= found.least) continue;
    found.levels.push_back(taken);
    search(rest, levels - 1, to, found);
    found.levels.pop_back();
  }
}

std::vector<int> LevelOptimum::first(int nodes) {
  if (nodes <= 1) return {};
  Search found;
  const std::int64_t least = bound(nodes, levels_);
  // Counts in any order hold at most as many nodes as the same counts in falling order.
  if (order_ != LevelOrder::rising) found.least = least + 1;
  search(nodes, levels_, 0, found);
  return found.best.front();
}

std::vector<std::vector<int>> LevelOptimum::all(int nodes, std::size_t most) {
  if (nodes <= 1) return {std::vector<int>()};
  Search found;
  found.least = cost_.of(first(nodes)) - cost_.tree;
  found.ties = true;
  found.most = most;
  search(nodes, levels_, 0, found);
  return found.best;
}

}  // namespace phicoll
