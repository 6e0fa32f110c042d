#pragma once

// Centralized sense-reversing barrier. Source: rodchenko-2015 section 3 ("sr"): one counter and one release
// word; the last arriver resets the counter and flips the release word. The paper's counter counts down from
// P, this one up from 0, with the same stores.

#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/contract/reset.hpp"
#include "phicoll/collectives/registry/signature.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

struct SenseReversing : AlgorithmDefaults {
  enum class Releases : unsigned char { last, root };

  struct Parameters {
    Reset reset = Reset::sense;
    Releases releases = Releases::last;
    StorePolicy store = StorePolicy::plain;
  };

  static AlgorithmFacts facts() {
    return {"sense-reversing", Origin::paper, "rodchenko-2015 section 3",
            "one counter of arrivals; the last arriver flips one release word that all others watch"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_reset(visitor, p.reset);
    visitor.choice("releases", p.releases, {"last", "root"},
                   "which rank releases: the last arriver, or the root that gave just before the barrier");
    describe_store(visitor, p.store);
  }

  struct Shared {
    Strided<CounterLine> count;
    // Written by the rank that releases alone: one writer at a time, handed on by the counter, so it may be
    // stored whole.
    Strided<SoleWriterLine<std::uint64_t>> release;
  };
  static std::size_t footprint(const Parameters&, const Shape&) { return sizeof(Shared); }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : shared_(setup.at<Shared>(0)),
          size_(static_cast<std::uint64_t>(setup.size())),
          self_(setup.rank),
          reset_(p.reset),
          releases_(p.releases),
          store_(p.store) {}

    // With `releases=root` the root of a broadcast or scatter just before the barrier awaits the others and
    // releases them, whenever it comes: they are likely to wait for it again after the barrier, and where
    // ranks share CPUs it may not run soon once another has released it. If two ranks take themselves for the
    // root, as mismatched calls make them, all wait until the group finds the mismatch.
    void operator()(Port& port) {
      if (releases_ == Releases::root && gave_before(port)) return release_others(port);
      if (start(port) == Started::half) complete(port);
    }
    Started start(Port& port) {
      ++episode_;
      // Acquire and release: the last arriver has seen all that the others wrote before they came, and its
      // release passes that on to them.
      if (arrive(port) != last()) return Started::half;
      // No rank can arrive for the next episode before the release.
      if (!monotone()) refill(port, shared_->count.value, store_);
      port.signal(shared_->release.value, release(), store_);
      return Started::whole;
    }
    void complete(Port& port) {
      port.wait(shared_->release.value.word, monotone() ? at_least(release()) : equal(release()));
    }

   private:
    bool monotone() const { return reset_ == Reset::episode; }
    bool gave_before(Port& port) const {
      const SignatureWord before = port.call_before();
      return call_signature::root_of(before) == self_ && call_signature::root_gives(before);
    }
    std::uint64_t arrive(Port& port) const {
      CounterLine& count = shared_->count.value;
      const std::uint64_t before = port.fetch_add(count.word, std::uint64_t{1});
      // The only one that is missing may be a root that sleeps on the counter: adding nothing wakes it.
      if (releases_ == Releases::root && before + 1 == last() &&
          call_signature::root_gives(port.call_before()))
        port.signal_add(count.word, std::uint64_t{0});
      return before;
    }
    void release_others(Port& port) {
      ++episode_;
      port.wait(shared_->count.value.word, equal(last()));
      if (monotone())
        port.store_relaxed(shared_->count.value.word, last() + 1);
      else
        refill(port, shared_->count.value, store_);
      port.signal(shared_->release.value, release(), store_);
    }
    /// The counter when one rank is missing.
    std::uint64_t last() const { return monotone() ? episode_ * size_ - 1 : size_ - 1; }
    std::uint64_t release() const { return monotone() ? episode_ : episode_ & 1; }

    Shared* shared_;
    std::uint64_t size_;
    std::uint64_t episode_ = 0;
    int self_;
    Reset reset_;
    Releases releases_;
    StorePolicy store_;
  };
};

}  // namespace phicoll
