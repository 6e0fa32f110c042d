#pragma once

// Paper 000's Centralized-II. Source: panigrahi-2014 section V: as Centralized-I "except that it uses a cache
// line per flag". Each rank sets its flag and polls on it until the root, which has seen all set, unsets it.
//
// The rank and the root write the flag in turn, each only after it has seen the other's store, so a flag has
// one writer at a time and may be stored as a whole line.

#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

struct CentralizedLines : AlgorithmDefaults {
  struct Parameters {
    StorePolicy store = StorePolicy::plain;
  };

  static AlgorithmFacts facts() {
    return {"centralized-lines", Origin::paper, "panigrahi-2014 section V, Centralized-II",
            "every rank sets a flag in a line of its own and polls on it until the root unsets all of them"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_store(visitor, p.store);
  }

  using Flags = StridedLines<SoleWriterLine<std::uint64_t>>;
  static std::size_t footprint(const Parameters&, const Shape& shape) {
    return Flags::bytes(shape, shape.size());
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : flags_(setup, 0), rank_(setup.rank), size_(setup.size()), store_(p.store) {}

    void operator()(Port& port) {
      const std::uint64_t set = 1;
      const std::uint64_t unset = 0;
      if (rank_ != 0) {
        port.signal(flags_[rank_], set, store_);
        port.wait(flags_[rank_].word, equal(unset), 0);
        return;
      }
      // All arrivals are acquired before the first release, so each released rank has what all others wrote
      // before they came.
      for (int r = 1; r < size_; ++r) port.wait(flags_[r].word, equal(set), r);
      for (int r = 1; r < size_; ++r) port.signal(flags_[r], unset, store_);
    }

   private:
    Flags flags_;
    int rank_;
    int size_;
    StorePolicy store_;
  };
};

}  // namespace phicoll
