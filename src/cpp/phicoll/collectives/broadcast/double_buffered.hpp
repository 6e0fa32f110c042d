#pragma once

// Double-buffered broadcast. Source: panigrahi-2014 section V: as `centralized` up to the size of the region;
// a larger message goes through the region's two halves in turn, with a flag of each receiver for each half,
// so that the root fills one while the receivers read the other. See shared_region.hpp for what makes what
// visible.

#include "phicoll/collectives/broadcast/shared_region.hpp"

namespace phicoll {

struct DoubleBufferedBroadcast : AlgorithmDefaults {
  using Parameters = SharedRegionParameters;

  static AlgorithmFacts facts() {
    return {"double-buffered", Origin::paper, "panigrahi-2014 section V",
            "through a region of shared memory whose halves are filled and read in turn"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    p.describe(visitor);
  }
  static const char* refuse(const Parameters& p) { return p.refuse(); }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return region_footprint(p, 2, shape);
  }

  template <class Port>
  class Rank : public SharedRegionRank<Port> {
   public:
    Rank(const Parameters& p, const Setup& setup) : SharedRegionRank<Port>(p, 2, setup) {}
  };
};

}  // namespace phicoll
