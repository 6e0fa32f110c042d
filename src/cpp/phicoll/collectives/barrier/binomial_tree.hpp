#pragma once

// Binomial spanning tree barrier. Source: panigrahi-2014 section V ("BST", after Tzeng and Kongmunvattana):
// flags gathered up the binomial tree in which the children of a rank are rank + 2^i for log2(rank) < i <
// ceil(log2 P), log2(0) read as below every i.
//
// The release runs down the heap tree of `release_degree` 6, as section VI of the paper says
// (`release=heap`), or down the same binomial tree, as section V implies (`release=binomial`). Only then may
// a flag be set and unset as the paper does, see flag_tree.hpp.

#include "phicoll/collectives/barrier/flag_tree.hpp"
#include "phicoll/collectives/barrier/k_nomial_tree.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/structure/heap_tree.hpp"
#include "phicoll/memory/control.hpp"

namespace phicoll {

struct BinomialTree : AlgorithmDefaults {
  enum class Release : unsigned char { heap, binomial };

  struct Parameters {
    int release_degree = 6;
    Release release = Release::heap;
    FlagTreeParameters flags;
  };

  static AlgorithmFacts facts() {
    return {"binomial-tree", Origin::paper, "panigrahi-2014 sections V and VI",
            "flags gathered up a binomial tree; a heap tree or the same tree releases"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("release_degree", p.release_degree, 2, max_ranks,
                    "children of a rank in the heap tree that releases; without effect for release=binomial");
    visitor.choice("release", p.release, {"heap", "binomial"}, "down which tree ranks are released");
    describe_tree_reset(visitor, p.flags.reset);
    describe_store(visitor, p.flags.store);
  }
  static void limit(Parameters& p, const Shape& shape) { limit_heap_degree(p.release_degree, shape.size()); }
  static const char* refuse(const Parameters& p) {
    return p.flags.reset == Reset::unset && p.release == Release::heap
               ? "reset=episode or sense unless release=binomial: the rank that awaits a flag must unset it"
               : nullptr;
  }
  static std::size_t footprint(const Parameters&, const Shape& shape) { return flag_tree_footprint(shape); }

  static FlagTreeNeighbours neighbours(const Parameters& p, int size, int rank) {
    const std::vector<int> children = k_nomial_children(size, 2, rank);
    const std::vector<int> gather(children.rbegin(), children.rend());  // the smallest subtree first
    if (p.release == Release::binomial) return {gather, children, rank == 0 ? -1 : k_nomial_parent(2, rank)};
    return with_heap_release(gather, p.release_degree, size, rank);
  }

  template <class Port>
  using Rank = FlagTreeRankOf<BinomialTree, Port>;
};

}  // namespace phicoll
