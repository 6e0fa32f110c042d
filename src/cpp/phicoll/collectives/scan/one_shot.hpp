#pragma once

// phicoll's scan for small messages: every rank publishes its operand and combines those of the ranks before
// it in rank order. No rank waits for a later one until its ring is full, and none needs the last rank's
// operand.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/structure/peer_order.hpp"
#include "phicoll/collectives/transport/cells.hpp"
#include "phicoll/collectives/transport/in_rank_order.hpp"

namespace phicoll {

struct OneShotScan : AlgorithmDefaults {
  struct Parameters {
    int cell = 8192;
    int cells = 128;
  };

  static AlgorithmFacts facts() {
    return {"one-shot", Origin::phicoll, "phicoll",
            "every rank publishes its operand and combines those before it in rank order"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("cell", p.cell, max_element_bytes, 1 << 20, "bytes of a piece");
    visitor.integer("cells", p.cells, 2, 4096, "pieces that a rank may be ahead of the slowest");
  }

  static void limit(Parameters& p, const Shape& shape) {
    limit_cells(shape.size(), p.cells, p.cell, max_element_bytes);
  }
  static bool in_rank_order(const Parameters&) { return true; }

  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return cells_footprint(shape.size(), shape.size(), p.cells, static_cast<std::size_t>(p.cell));
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : cells_(setup, 0, setup.size(), p.cells, static_cast<std::size_t>(p.cell), Credit::acknowledged),
          order_(setup),
          rank_(setup.rank),
          last_(setup.rank == setup.size() - 1) {}

    void operator()(Port& port, const Call& call) {
      const std::size_t size = call.op.element_bytes;
      const std::size_t most = call.elements_within(cells_.bytes());
      for (std::size_t at = 0; at < call.count; at += most)
        piece(port, call, at * size, std::min(most, call.count - at));
    }
    Started start(Port& port, const Call& call) {
      // One piece: what is left is the whole call.
      if (call.count == 0 || call.bytes() > cells_.bytes() || !cells_.opens(port, steps_)) return Started::no;
      own_ = publish(port, call, 0, call.count);
      return Started::half;
    }
    void complete(Port& port, const Call& call) { take(port, call, 0, call.count, own_); }

   private:
    void piece(Port& port, const Call& call, std::size_t at, std::size_t count) {
      take(port, call, at, count, publish(port, call, at, count));
    }
    /// Returns where the own operand stays until it is combined.
    Data publish(Port& port, const Call& call, std::size_t at, std::size_t count) {
      const std::uint64_t step = steps_;
      const std::size_t bytes = count * call.op.element_bytes;
      const bool kept = call.keeps_operand(rank_);
      Data own = call.send + at;
      if (!last_ || (!kept && !call.exclusive)) {
        const Data cell = cells_.open(port, step, bytes);
        port.move(cell, own, bytes, last_ ? Stores::cached : cells_.stores());
        if (!last_) cells_.publish(port, step, call.tag);
        if (!kept) own = cell;
      }
      return own;
    }
    void take(Port& port, const Call& call, std::size_t at, std::size_t count, Data own) {
      const std::uint64_t step = steps_++;
      const std::size_t bytes = count * call.op.element_bytes;
      const Data result = call.receive + at;
      if (order_.sharing())
        for (const int r : order_)
          if (r < rank_) cells_.await(port, r, step, call.tag, bytes);
      const int last = call.exclusive ? rank_ - 1 : rank_;
      if (last >= 0) {
        const Data outcome =
            combine_in_rank_order(port, call.op, last + 1, result, count, [&, step, bytes](int r) {
              return r == rank_ ? own : cells_.await(port, r, step, call.tag, bytes);
            });
        if (outcome != result) port.move(result, outcome, bytes);
      }
      cells_.finish(port, step);
    }

    Cells<Port> cells_;
    PeerOrder order_;
    std::uint64_t steps_ = 0;
    Data own_;  // between start and complete
    int rank_;
    bool last_;  // no rank takes its operand
  };
};

}  // namespace phicoll
