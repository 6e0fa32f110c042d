#pragma once

// Centralized sense-reversing barrier. Source: rodchenko-2015 section 3 ("sr"): one counter and one release word; the last
// arriver resets the counter and flips the release word.
//
// The paper's counter counts down from P; this one counts up from 0, with the same stores.

#include <cstdint>

#include "phicoll/collectives/barrier/reset.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

struct SenseReversing : AlgorithmDefaults {
  struct Parameters {
    Reset reset = Reset::sense;
    StorePolicy store = StorePolicy::plain;
  };

  static AlgorithmFacts facts() {
    return {"sense-reversing", Origin::paper, "rodchenko-2015 section 3",
            "one counter of arrivals; the last arriver flips one release word that all others watch"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_reset(visitor, p.reset);
    describe_store(visitor, p.store);
  }

  struct Shared {
    Strided<CounterLine> count;
    // Written by the last arriver alone: one writer at a time, handed on by the counter, so it may be stored
    // whole.
    Strided<SoleWriterLine<std::uint64_t>> release;
  };
  static std::size_t footprint(const Parameters&, const Shape&) { return sizeof(Shared); }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : shared_(setup.at<Shared>(0)),
          size_(static_cast<std::uint64_t>(setup.size())),
          reset_(p.reset),
          store_(p.store) {}

    void operator()(Port& port) {
      if (start(port) == Started::half) complete(port);
    }
    Started start(Port& port) {
      ++episode_;
      const std::uint64_t last = monotone() ? episode_ * size_ - 1 : size_ - 1;
      // Acquire and release: the last arriver has seen all that the others wrote before they came, and its release
      // below passes that on to them.
      if (port.fetch_add(shared_->count.value.word, std::uint64_t{1}) != last) return Started::half;
      // No rank can arrive for the next episode before the release, so a relaxed reset before it is enough.
      if (!monotone()) port.store_relaxed(shared_->count.value.word, std::uint64_t{0});
      port.signal(shared_->release.value, release(), store_);
      return Started::whole;
    }
    void complete(Port& port) {
      port.wait(shared_->release.value.word, monotone() ? at_least(release()) : equal(release()));
    }

   private:
    bool monotone() const { return reset_ == Reset::episode; }
    std::uint64_t release() const { return monotone() ? episode_ : episode_ & 1; }

    Shared* shared_;
    std::uint64_t size_;
    std::uint64_t episode_ = 0;
    Reset reset_;
    StorePolicy store_;
  };
};

}  // namespace phicoll
