#include "phicoll/collectives/structure/level_tree.hpp"

namespace phicoll {

LevelTreeNode level_tree_node(const std::vector<int>& k, int nodes, int node) {
  LevelTreeNode result;
  // Level by level: `first` is the number of a level's first node, `width` how many it has.
  int first = 0;
  int width = 1;
  for (std::size_t level = 0; first + width < nodes; ++level) {
    const int most = k[level < k.size() ? level : k.size() - 1];
    const long left = nodes - first - width;
    const int next =
        static_cast<int>(static_cast<long>(width) * most < left ? static_cast<long>(width) * most : left);
    // Child c of the next level belongs to parent floor(c * width / next).
    const int next_first = first + width;
    if (node >= first && node < next_first)
      for (int c = 0; c < next; ++c)
        if (static_cast<long>(c) * width / next == node - first) result.children.push_back(next_first + c);
    if (node >= next_first && node < next_first + next)
      result.parent = first + static_cast<int>(static_cast<long>(node - next_first) * width / next);
    first = next_first;
    width = next;
  }
  return result;
}

int level_tree_capacity(const std::vector<int>& k, int enough) {
  long held = 1;
  long width = 1;
  for (const int one : k) {
    width *= one;
    held += width;
    if (held >= enough) return enough;
  }
  return static_cast<int>(held);
}

}  // namespace phicoll
