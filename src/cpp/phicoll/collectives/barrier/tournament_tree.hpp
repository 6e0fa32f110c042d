#pragma once

// Tournament barrier with a tree to release. Source: panigrahi-2014 section V ("Tournament", after Hensgen,
// Finkel and Manber): in round t the remaining ranks meet in pairs r and r + 2^t; the lower wins and waits
// for the loser's flag. The champion, rank 0, releases "similar to the one used in the tree algorithm": down
// the heap tree of `release_degree`, for which the paper states no value; 6 as for its other trees.
//
// A loser's flag is awaited by one rank and released by another, so it may not be unset (flag_tree.hpp). It
// counts: two bits (`reset=sense`) or an episode.

#include "phicoll/collectives/barrier/flag_tree.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/structure/heap_tree.hpp"
#include "phicoll/memory/control.hpp"

namespace phicoll {

struct TournamentTree : AlgorithmDefaults {
  struct Parameters {
    int release_degree = 6;
    FlagTreeParameters flags;
  };

  static AlgorithmFacts facts() {
    return {"tournament-tree", Origin::paper, "panigrahi-2014 section V",
            "pairs meet on the way up, the lower rank wins; a heap tree releases"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("release_degree", p.release_degree, 2, max_ranks,
                    "children of a rank in the heap tree that releases");
    describe_tree_reset(visitor, p.flags.reset);
    describe_store(visitor, p.flags.store);
  }
  static void limit(Parameters& p, const Shape& shape) { limit_heap_degree(p.release_degree, shape.size()); }
  static const char* refuse(const Parameters& p) {
    return p.flags.reset == Reset::unset
               ? "reset=episode or sense: the rank that awaits a flag is not the one that would "
                 "unset it, and could meet it again"
               : nullptr;
  }
  static std::size_t footprint(const Parameters&, const Shape& shape) { return flag_tree_footprint(shape); }

  static FlagTreeNeighbours neighbours(const Parameters& p, int size, int rank) {
    std::vector<int> beaten;
    for (int step = 1; step < size && (rank & step) == 0; step *= 2)
      if (rank + step < size) beaten.push_back(rank + step);
    return with_heap_release(beaten, p.release_degree, size, rank);
  }

  template <class Port>
  using Rank = FlagTreeRankOf<TournamentTree, Port>;
};

}  // namespace phicoll
