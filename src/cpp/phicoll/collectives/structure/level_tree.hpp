#pragma once

// A tree given by its levels: a node of level i - 1 has at most k_i children in level i. Source:
// ramos-hoefler-2013 equations 4.3 and 4.4. The paper leaves open how fewer ranks than the tree can hold lie
// in it: level by level, each level's nodes spread evenly over the parents, so that no two parents' numbers
// of children differ by more than one. Nodes are numbered level by level, the root is 0.

#include <vector>

namespace phicoll {

struct LevelTreeNode {
  int parent = -1;  ///< -1 for the root
  std::vector<int> children;
};

/// Node `node` of the tree of `nodes` nodes. Levels beyond those given have the last k.
LevelTreeNode level_tree_node(const std::vector<int>& k, int nodes, int node);

/// The number of nodes that the levels hold; counting stops at `enough`.
int level_tree_capacity(const std::vector<int>& k, int enough);

}  // namespace phicoll
