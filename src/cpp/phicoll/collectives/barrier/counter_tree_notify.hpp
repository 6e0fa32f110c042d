#pragma once

// One check-in counter and a tree of releases: the mix that rodchenko-2015 suggests in section 5.3, having
// found that a global flag costs more than the counter. The last arriver releases the root of a heap tree of
// `arity`; each released rank releases its children.
//
// The last arriver, too, waits for its own release: with one-bit flags, a release that came after it had gone
// on would be taken for that of the episode after next. The check-in counter is the only line with many
// writers.

#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/contract/reset.hpp"
#include "phicoll/collectives/structure/heap_tree.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

struct CounterTreeNotify : AlgorithmDefaults {
  struct Parameters {
    int arity = 4;
    Reset reset = Reset::episode;
    StorePolicy store = StorePolicy::plain;
  };

  static AlgorithmFacts facts() {
    return {"counter-tree-notify", Origin::paper, "rodchenko-2015 section 5.3",
            "one counter of arrivals; a heap tree of release lines"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("arity", p.arity, 2, max_ranks, "children of a rank in the heap tree that releases");
    describe_reset(visitor, p.reset);
    describe_store(visitor, p.store);
  }
  static void limit(Parameters& p, const Shape& shape) { limit_heap_degree(p.arity, shape.size()); }

  using ReleaseLine = SoleWriterLine<std::uint64_t>;

  // The counter, then a release line for each rank. Its parent in the heap writes it; the root's, the last
  // arriver.
  static std::size_t release_offset(const Shape& shape, int rank) {
    return StridedLines<ReleaseLine>::bytes(shape, rank + 1);
  }
  static std::size_t footprint(const Parameters&, const Shape& shape) {
    return release_offset(shape, shape.size());
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : count_(setup.at<CounterLine>(0)),
          own_(setup.at<ReleaseLine>(release_offset(setup.shape, setup.rank))),
          root_(setup.at<ReleaseLine>(release_offset(setup.shape, 0))),
          size_(static_cast<std::uint64_t>(setup.size())),
          parent_(setup.rank == 0 ? any_rank : heap_parent(p.arity, setup.rank)),
          reset_(p.reset),
          store_(p.store) {
      for (int child : heap_children(setup.size(), p.arity, setup.rank))
        children_.push_back(setup.at<ReleaseLine>(release_offset(setup.shape, child)));
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
    template <bool monotone>
    void run(Port& port, Condition<std::uint64_t> released) {
      const std::uint64_t last = monotone ? episode_ * size_ - 1 : size_ - 1;
      // Acquire and release: the last arriver has seen what all others wrote before they came, and the
      // releases hand it on down the tree.
      if (port.fetch_add(count_->word, std::uint64_t{1}) == last) {
        // No rank comes for the next episode before the release.
        if (!monotone) refill(port, *count_, store_);
        port.signal(*root_, released.value, store_);
      }
      port.wait(own_->word, released, parent_);
      for (ReleaseLine* child : children_) port.signal(*child, released.value, store_);
    }

    std::uint64_t episode_ = 0;
    AlignedVector<ReleaseLine*> children_;
    CounterLine* count_;
    ReleaseLine* own_;
    ReleaseLine* root_;
    std::uint64_t size_;
    int parent_;
    Reset reset_;
    StorePolicy store_;
  };
};

}  // namespace phicoll
