#pragma once

// Binomial tree broadcast. Source: ramos-hoefler-2013 section 4.4 and figure 4.4: in each phase every rank
// that has the message passes it to one more. See receiver_tree.hpp.

#include "phicoll/collectives/broadcast/receiver_tree.hpp"

namespace phicoll {

struct BinomialBroadcast : ReceiverTreeAlgorithm<BinomialBroadcast> {
  struct Parameters {
    ReceiverTree tree;
  };

  static AlgorithmFacts facts() {
    return {"binomial", Origin::paper, "ramos-hoefler-2013 section 4.4",
            "in each phase every informed rank informs one more"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    p.tree.describe(visitor);
  }
  static RankTree tree(const Parameters&, int ranks) { return k_nomial_tree(ranks, 2); }
};

}  // namespace phicoll
