#pragma once

// What is common to algorithms that copy data once from buffer to buffer and, where buffers cannot be
// reached, take another way through cells: that way's parameters, and its memory, which follows the
// exposures.

#include <cstddef>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/transport/exposure.hpp"

namespace phicoll {

template <class Other>
struct SingleCopy : AlgorithmDefaults {
  /// For broadcasts, gathers and scatters; exchanges have others. `cell` is the other way's default.
  struct Parameters {
    int piece = 262144;
    int cell = typename Other::Parameters().cell;
    int cells = 64;
  };

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("piece", p.piece, 4096, 1 << 24, "bytes that one side copies at a time");
    visitor.integer("cells", p.cells, 2, 4096, "cells of the other way, where buffers cannot be reached");
  }

  template <class Own>
  static typename Other::Parameters other(const Own& p, const Shape& shape) {
    typename Other::Parameters way;
    way.cell = p.cell;
    way.cells = p.cells;
    Other::limit(way, shape);
    return way;
  }
  template <class Own>
  static std::size_t footprint(const Own& p, const Shape& shape) {
    return exposures_footprint(shape.size()) + Other::footprint(other(p, shape), shape);
  }
  /// The other way's setup.
  static Setup behind(const Setup& setup) {
    return Setup{setup.rank, setup.shape, setup.memory + exposures_footprint(setup.size())};
  }
};

}  // namespace phicoll
