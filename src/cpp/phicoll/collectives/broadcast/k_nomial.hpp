#pragma once

// k-nomial tree broadcast. Source: ramos-hoefler-2013 section 4.4 and figure 4.4, there with k = 3: in each
// phase every rank that has the message passes it to k - 1 more. See receiver_tree.hpp.

#include "phicoll/collectives/broadcast/receiver_tree.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/memory/control.hpp"

namespace phicoll {

struct KNomialBroadcast : ReceiverTreeAlgorithm<KNomialBroadcast> {
  struct Parameters {
    int degree = 3;
    ReceiverTree tree;
  };

  static AlgorithmFacts facts() {
    return {"k-nomial", Origin::paper, "ramos-hoefler-2013 section 4.4",
            "in each phase every informed rank informs k-1 more"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("degree", p.degree, 2, max_ranks,
                    "k: factor by which the informed ranks grow in a phase");
    p.tree.describe(visitor);
  }
  static void limit(Parameters& p, const Shape& shape) {
    limit_growth(p.degree, shape);
    p.tree.limit(shape);
  }
  static RankTree tree(const Parameters& p, int ranks) { return k_nomial_tree(ranks, p.degree); }
};

}  // namespace phicoll
