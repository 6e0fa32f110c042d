#pragma once

// Tree barrier. Source: panigrahi-2014 section V ("Tree", after Scott and Mellor-Crummey, changed there to a
// line a rank): ranks are the nodes of a heap tree of `degree`; each waits for the flags of its children,
// sets its own, and when it is released unsets its children's.
//
// "Degree" is the number of children of a rank: about log_k P levels, each passed up and down. The paper
// found no gain above 6, the default. The paper's way with the flags is `reset=unset`, see flag_tree.hpp.

#include "phicoll/collectives/barrier/flag_tree.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/structure/heap_tree.hpp"
#include "phicoll/memory/control.hpp"

namespace phicoll {

struct Tree : AlgorithmDefaults {
  struct Parameters {
    int degree = 6;
    FlagTreeParameters flags;
  };

  static AlgorithmFacts facts() {
    return {"tree", Origin::paper, "panigrahi-2014 section V",
            "flags gathered up a heap tree of ranks and unset down it"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("degree", p.degree, 2, max_ranks, "children of a rank in the heap tree");
    describe_tree_reset(visitor, p.flags.reset);
    describe_store(visitor, p.flags.store);
  }
  static void limit(Parameters& p, const Shape& shape) { limit_heap_degree(p.degree, shape.size()); }
  static std::size_t footprint(const Parameters&, const Shape& shape) { return flag_tree_footprint(shape); }

  static FlagTreeNeighbours neighbours(const Parameters& p, int size, int rank) {
    const std::vector<int> children = heap_children(size, p.degree, rank);
    return {children, children, rank == 0 ? -1 : heap_parent(p.degree, rank)};
  }

  template <class Port>
  using Rank = FlagTreeRankOf<Tree, Port>;
};

}  // namespace phicoll
