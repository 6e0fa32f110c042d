#pragma once

// Fibonacci tree broadcast. Source: ramos-hoefler-2013 section 4.4 and figure 4.4, which names Karp et al.'s
// tree, optimal in the LogP model, with o = L/2 and o = L/4 and says no more. Built here: the greedy tree, in
// which an informed rank sends every o, and a receiver may send 2o + L after its message was sent. See
// receiver_tree.hpp.

#include "phicoll/collectives/broadcast/receiver_tree.hpp"

namespace phicoll {

struct FibonacciBroadcast : ReceiverTreeAlgorithm<FibonacciBroadcast> {
  enum class Overhead : unsigned char { half, quarter };

  struct Parameters {
    Overhead overhead = Overhead::half;
    ReceiverTree tree;
  };

  static AlgorithmFacts facts() {
    return {"fibonacci", Origin::paper, "ramos-hoefler-2013 section 4.4",
            "the greedy tree of the LogP model, optimal there"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.choice("overhead", p.overhead, {"half", "quarter"}, "o of the model, as a part of L");
    p.tree.describe(visitor);
  }
  static RankTree tree(const Parameters& p, int ranks) {
    return fibonacci_tree(ranks, 1, p.overhead == Overhead::half ? 2 : 4);
  }
};

}  // namespace phicoll
