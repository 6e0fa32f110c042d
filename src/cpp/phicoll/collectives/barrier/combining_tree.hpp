#pragma once

// Combining-tree barrier. Source: rodchenko-2015 section 3 ("ct", notification "ls" or "gs"), after Yew,
// Tzeng and Lawrie.
//
// A tree of `arity` has a counter at each node. The last to arrive at a node goes on to its parent; the
// others wait. The last at the root tells all: `local`, each winner releases the nodes that it won, from the
// top down; `global`, it stores a word that all watch. The default arity, 4, was the paper's best.
//
// Reset: the paper's counters are refilled and its flags flip (`reset=sense`). By default numbers only grow,
// without a refill.

#include <cstdint>

#include "phicoll/collectives/barrier/game_tree.hpp"
#include "phicoll/collectives/barrier/notify.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/contract/reset.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

struct CombiningTree : AlgorithmDefaults {
  struct Parameters {
    int arity = 4;
    Notify notify = Notify::local;
    Reset reset = Reset::episode;
    StorePolicy store = StorePolicy::plain;
  };

  static AlgorithmFacts facts() {
    return {"combining-tree", Origin::paper, "rodchenko-2015 section 3",
            "a counter at each node of a tree; the last to arrive goes on to the parent"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("arity", p.arity, 2, max_ranks, "ranks or subtrees that meet at a node");
    describe_notify(visitor, p.notify);
    describe_reset(visitor, p.reset);
    describe_store(visitor, p.store);
  }
  static void limit(Parameters& p, const Shape& shape) { limit_growth(p.arity, shape); }

  struct Node {
    Strided<CounterLine> count;
    // Stored by the node's last arriver alone: one writer at a time, handed on by the counter, so it may be
    // stored whole.
    Strided<SoleWriterLine<std::uint64_t>> release;
  };
  // With `global` the first node's release line serves all.
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return (game_count(shape.size(), p.arity) + 1) * sizeof(Node);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : global_(p.notify == Notify::global ? &setup.at<Node>(0)->release.value : nullptr),
          reset_(p.reset),
          store_(p.store) {
      for_each_game(setup.size(), p.arity, setup.rank, [&](const Game& game) {
        Node* const node = setup.at<Node>(game.number * sizeof(Node));
        path_.push_back(
            Step{&node->count.value, &node->release.value, static_cast<std::uint64_t>(game.entrants)});
      });
    }

    void operator()(Port& port) {
      ++episode_;
      if (reset_ == Reset::episode) {
        run<true>(port, at_least(episode_));
      } else {
        run<false>(port, equal<std::uint64_t>(episode_ & 1));
      }
    }

   private:
    struct Step {
      CounterLine* count;
      SoleWriterLine<std::uint64_t>* release;
      std::uint64_t entrants;
    };

    template <bool monotone>
    void run(Port& port, Condition<std::uint64_t> released) {
      Step* const bottom = path_.data();
      Step* const top = bottom + path_.size();
      Step* step = bottom;
      for (; step != top; ++step) {
        const std::uint64_t last = monotone ? episode_ * step->entrants - 1 : step->entrants - 1;
        // Acquire and release: the last arriver sees all that the others of the node, and those below them,
        // wrote before they came, and carries it up; the releases below hand it on to everyone.
        if (port.fetch_add(step->count->word, std::uint64_t{1}) != last) {
          port.wait(global_ != nullptr ? global_->word : step->release->word, released);
          break;
        }
        // No rank can come here for the next episode before this one's release.
        if (!monotone) refill(port, *step->count, store_);
      }
      if (global_ == nullptr) {
        // The nodes won, from the top down: the largest subtree first.
        while (step != bottom) port.signal(*(--step)->release, released.value, store_);
      } else if (step == top) {
        port.signal(*global_, released.value, store_);
      }
    }

    std::uint64_t episode_ = 0;
    AlignedVector<Step> path_;
    SoleWriterLine<std::uint64_t>* global_;
    Reset reset_;
    StorePolicy store_;
  };
};

}  // namespace phicoll
