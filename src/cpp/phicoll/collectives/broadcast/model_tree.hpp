#pragma once

// Broadcast down the tree that the paper's model finds best. Source: ramos-hoefler-2013 section 4.1.2: the
// tree has d levels, and a rank of level i - 1 has k_i children, chosen so that the modelled time of
// announcements, of copies under contention and of acknowledgements is least (tree_model.hpp; Table B.1 has
// the result for up to 60 ranks), with the costs of the ranks' machine. Where there are fewer ranks than
// places, levels are filled from the top and spread evenly over their parents. See receiver_tree.hpp for the
// rest.

#include "phicoll/collectives/broadcast/receiver_tree.hpp"
#include "phicoll/collectives/broadcast/tree_model.hpp"
#include "phicoll/memory/control.hpp"

namespace phicoll {

struct ModelTreeBroadcast : ReceiverTreeAlgorithm<ModelTreeBroadcast> {
  static constexpr int levels = 6;  // with the paper's costs the model takes at most five for 1,024 ranks

  struct Parameters {
    int k[levels] = {};
    ReceiverTree tree;
  };

  static AlgorithmFacts facts() {
    return {"model-tree", Origin::paper, "ramos-hoefler-2013 section 4.1.2",
            "a tree whose number of children in each level is chosen by the paper's model"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("k1", p.k[0], 0, max_ranks, "children of the root; 0: all counts by the paper's model");
    visitor.integer("k2", p.k[1], 0, max_ranks, "children of a rank of level 1; 0: no such level");
    visitor.integer("k3", p.k[2], 0, max_ranks, "of level 2");
    visitor.integer("k4", p.k[3], 0, max_ranks, "of level 3");
    visitor.integer("k5", p.k[4], 0, max_ranks, "of level 4");
    visitor.integer("k6", p.k[5], 0, max_ranks, "of level 5");
    p.tree.describe(visitor);
  }
  static const char* refuse(const Parameters& p) {
    for (int level = 1; level < levels; ++level)
      if (p.k[level] != 0 && p.k[level - 1] == 0) return "no level's count without that of the level above";
    return p.tree.refuse();
  }
  /// In effect: no level that would be empty; the last level's count is what all the ranks need.
  static void limit(Parameters& p, const Shape& shape) {
    p.tree.limit(shape);
    if (p.k[0] == 0) {
      const std::vector<int> best = best_broadcast_levels(shape.size(), shape.costs(), levels);
      for (std::size_t level = 0; level < best.size() && level < levels; ++level) p.k[level] = best[level];
    }
    long places = 1;
    long lowest = 1;
    for (int level = 0; level < levels; ++level) {
      const long missing = shape.size() - places;
      const long enough = (missing + lowest - 1) / lowest;
      const bool last = level + 1 == levels || p.k[level + 1] == 0;
      int& k = p.k[level];
      if (missing <= 0)
        k = shape.size() == 1 && level == 0 ? 1 : 0;
      else if (k > enough || (last && k != 0))
        k = static_cast<int>(enough);
      places += lowest * k;
      lowest *= k;
      if (lowest == 0) lowest = 1;
    }
  }
  static RankTree tree(const Parameters& p, int ranks) {
    std::vector<int> counts;
    for (const int k : p.k)
      if (k != 0) counts.push_back(k);
    return level_tree(ranks, counts);
  }
};

}  // namespace phicoll
