#pragma once

// phicoll's scan for small messages: every rank publishes its operand and combines those of the ranks before
// it in rank order. Nobody waits for a later rank, until its ring is full.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/cells.hpp"
#include "phicoll/collectives/entries.hpp"

namespace phicoll {

struct OneShotScan : DataAlgorithm {
  struct Parameters {
    int cell = 8192;
    int cells = 4;
  };

  static AlgorithmFacts facts() {
    return {"one-shot", Origin::phicoll, "phicoll",
            "every rank publishes its operand and combines those before it in rank order"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("cell", p.cell, max_element_bytes, 1 << 20, "bytes of a piece");
    visitor.integer("cells", p.cells, 2, 256, "pieces that a rank may be ahead of the slowest");
  }

  static void limit(Parameters& p, const Shape& shape) {
    limit_cells(shape.size(), p.cells, p.cell, max_element_bytes);
  }

  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return cells_footprint(shape.size(), shape.size(), p.cells, static_cast<std::size_t>(p.cell));
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : cells_(setup, 0, setup.size(), p.cells, static_cast<std::size_t>(p.cell), Credit::acknowledged),
          rank_(setup.rank) {}

    void operator()(Port& port, const Call& call) {
      const std::size_t size = call.op.element_bytes;
      const std::size_t most = cells_.bytes() / size;
      for (std::size_t at = 0; at < call.count; at += most)
        piece(port, call, at * size, std::min(most, call.count - at));
    }

   private:
    void piece(Port& port, const Call& call, std::size_t at, std::size_t count) {
      const std::uint64_t step = steps_++;
      const std::size_t bytes = count * call.op.element_bytes;
      const Data own = cells_.open(port, step);
      port.move(own, call.send + at, bytes);
      cells_.publish(port, step, call.tag);
      // The own operand is in the cell, so the result may overwrite it in place.
      const Data result = call.receive + at;
      const int last = call.exclusive ? rank_ - 1 : rank_;
      if (last >= 0) {
        Data left = operand(port, call, 0, step);
        if (last == 0) port.move(result, left, bytes);
        for (int r = 1; r <= last; ++r) {
          port.combine(call.op, result, left, operand(port, call, r, step), count);
          left = result;
        }
      }
      cells_.finish(port, step);
    }
    Data operand(Port& port, const Call& call, int r, std::uint64_t step) {
      return r == rank_ ? cells_.own(port, step) : cells_.await(port, r, step, call.tag);
    }

    Cells<Port> cells_;
    std::uint64_t steps_ = 0;
    int rank_;
  };
};

}  // namespace phicoll
