#pragma once

// Centralized broadcast. Source: panigrahi-2014 section V: the root copies the message into a region of
// shared memory and sets a flag of each receiver, in a line of its own; receivers copy out and unset their
// flags. A message larger than the region goes chunk by chunk, and the receivers wait while the root fills
// the region again. See shared_region.hpp for what makes what visible.

#include "phicoll/collectives/broadcast/shared_region.hpp"

namespace phicoll {

struct CentralizedBroadcast : AlgorithmDefaults {
  using Parameters = SharedRegionParameters;

  static AlgorithmFacts facts() {
    return {"centralized", Origin::paper, "panigrahi-2014 section V",
            "through one region of shared memory, filled again when all have read it"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    p.describe(visitor);
  }
  static const char* refuse(const Parameters& p) { return p.refuse(); }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return region_footprint(p, 1, shape);
  }

  template <class Port>
  class Rank : public SharedRegionRank<Port> {
   public:
    Rank(const Parameters& p, const Setup& setup) : SharedRegionRank<Port>(p, 1, setup) {}
  };
};

}  // namespace phicoll
