#pragma once

// k-nomial tree barrier. Source: velamati-2007 section 3.2 ("TREE"): gather and broadcast along the tree in
// which every informed rank informs `degree` - 1 others in each phase: in phase t rank r < k^t informs r + i
// * k^t, 1 <= i < k. Informed ranks grow by `degree`, so ceil(log_k P) phases; 2 is the binomial tree. In the
// heap tree of `tree` a rank tells its children and is done; here it tells more in every later phase.
//
// 2 and 4 were best; 4, the default, has half the phases. The papers unset flags (`reset=unset`,
// flag_tree.hpp).

#include "phicoll/collectives/barrier/flag_tree.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/memory/control.hpp"

namespace phicoll {

/// The children of a rank in the order of the phases in which it informs them: the largest subtree first.
inline std::vector<int> k_nomial_children(int ranks, int degree, int rank) {
  std::vector<int> children;
  for (int reach = 1; reach < ranks; reach *= degree) {
    if (reach <= rank) continue;
    for (int i = 1; i < degree && rank + i * reach < ranks; ++i) children.push_back(rank + i * reach);
  }
  return children;
}

/// The rank that informs rank > 0, in the phase in which the informed grow beyond it.
inline int k_nomial_parent(int degree, int rank) {
  int reach = 1;
  while (reach * degree <= rank) reach *= degree;
  return rank % reach;
}

struct KNomialTree : AlgorithmDefaults {
  struct Parameters {
    int degree = 4;
    FlagTreeParameters flags;
  };

  static AlgorithmFacts facts() {
    return {"k-nomial-tree", Origin::paper, "velamati-2007 section 3.2",
            "each informed rank informs k-1 others a phase; gathered the other way round"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("degree", p.degree, 2, max_ranks, "factor by which the informed ranks grow in a phase");
    describe_tree_reset(visitor, p.flags.reset);
    describe_store(visitor, p.flags.store);
  }
  static void limit(Parameters& p, const Shape& shape) { limit_growth(p.degree, shape); }
  static std::size_t footprint(const Parameters&, const Shape& shape) { return flag_tree_footprint(shape); }

  static FlagTreeNeighbours neighbours(const Parameters& p, int size, int rank) {
    const std::vector<int> children = k_nomial_children(size, p.degree, rank);
    // Gathered in the reverse order: the rank that is informed last has the smallest subtree and arrives
    // first.
    return {std::vector<int>(children.rbegin(), children.rend()), children,
            rank == 0 ? -1 : k_nomial_parent(p.degree, rank)};
  }

  template <class Port>
  using Rank = FlagTreeRankOf<KNomialTree, Port>;
};

}  // namespace phicoll
