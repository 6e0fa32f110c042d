#pragma once

// Flat tree broadcast. Source: ramos-hoefler-2013 section 4.4 and figure 4.4: everyone copies from the root.
// See receiver_tree.hpp.

#include "phicoll/collectives/broadcast/receiver_tree.hpp"

namespace phicoll {

struct FlatBroadcast : ReceiverTreeAlgorithm<FlatBroadcast> {
  struct Parameters {
    ReceiverTree tree;
  };

  static AlgorithmFacts facts() {
    return {"flat", Origin::paper, "ramos-hoefler-2013 section 4.4", "all ranks copy from the root"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    p.tree.describe(visitor);
  }
  static RankTree tree(const Parameters&, int ranks) { return flat_tree(ranks); }
};

}  // namespace phicoll
