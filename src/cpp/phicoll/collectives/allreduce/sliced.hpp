#pragma once

// phicoll's allreduce for middle and large messages, in chunks that stay in the caches: every rank publishes
// its operand, combines one slice of all operands in rank order, and publishes the result of its slice for
// all to take. A rank's own slice is never copied in, and each chunk's operands are published before the
// chunk in front of it is finished.
//
// A chunk takes two steps of Cells, its operands and its results, in a ring of four or more without
// acknowledgements. With four: step 2i (operands of chunk i) uses the cell of step 2i - 4, the operands of
// chunk i - 2, and is opened after this rank has taken everyone's results of chunk i - 2, which each
// published after it had read those operands. Step 2i + 1 uses the cell of the results of chunk i - 2 and is
// opened after this rank has seen everyone's operands of chunk i, which each published after it had taken all
// results of chunk i - 2.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/cells.hpp"
#include "phicoll/collectives/entries.hpp"
#include "phicoll/collectives/peer_order.hpp"

namespace phicoll {

struct SlicedAllreduce : DataAlgorithm {
  struct Parameters {
    int chunk = 65536;
    int cells = 32;
  };

  static AlgorithmFacts facts() {
    return {"sliced", Origin::phicoll, "phicoll",
            "each rank combines one slice of all operands, all take all slices; in chunks"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("chunk", p.chunk, 1024, 1 << 22, "bytes of a chunk of the message");
    visitor.integer("cells", p.cells, 4, 4096, "cells of a rank, used in turn: two a chunk");
  }

  static void limit(Parameters& p, const Shape& shape) {
    p.cells = std::max(
        4, cells_within(shape.size(), shape.size(), p.cells / 2 * 2, static_cast<std::size_t>(p.chunk)));
    while (p.chunk > 1024 && footprint(p, shape) > rings_most) p.chunk /= 2;
  }

  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return cells_footprint(shape.size(), shape.size(), p.cells, static_cast<std::size_t>(p.chunk));
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : cells_(setup, 0, setup.size(), p.cells, static_cast<std::size_t>(p.chunk), Credit::implied),
          order_(setup),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      if (ranks_ == 1) {
        if (call.send != call.receive) port.move(call.receive, call.send, call.bytes());
        return;
      }
      const std::size_t most = call.elements_within(cells_.bytes());
      if (call.count == 0) return;
      publish(port, call, 0, std::min(most, call.count), steps_);
      for (std::size_t at = 0; at < call.count; at += most, steps_ += 2) {
        const std::size_t next = at + most;
        if (next < call.count) publish(port, call, next, std::min(most, call.count - next), steps_ + 2);
        const std::size_t count = std::min(most, call.count - at);
        combine(port, call, at, count, steps_);
        take(port, call, at, count, steps_ + 1);
      }
    }

   private:
    // Elements in front of slice r; slices of whole lines as far as that goes.
    std::size_t begin(int r, std::size_t count, std::size_t size) const {
      const std::size_t line = std::max<std::size_t>(1, arch::line_bytes / size);
      const std::size_t lines = (count + line - 1) / line;
      const std::size_t first = lines * static_cast<std::size_t>(r) / static_cast<std::size_t>(ranks_) * line;
      return std::min(first, count);
    }

    void publish(Port& port, const Call& call, std::size_t at, std::size_t count, std::uint64_t step) {
      const std::size_t size = call.op.element_bytes;
      const Data cell = cells_.open(port, step, count * size);
      const std::size_t before = begin(rank_, count, size) * size;
      const std::size_t behind = begin(rank_ + 1, count, size) * size;
      const Data from = call.send + at * size;
      if (before != 0) port.move(cell, from, before, cells_.stores());
      if (count * size != behind)
        port.move(cell + behind, from + behind, count * size - behind, cells_.stores());
      cells_.publish(port, step, call.tag);
    }

    void combine(Port& port, const Call& call, std::size_t at, std::size_t count, std::uint64_t step) {
      const std::size_t size = call.op.element_bytes;
      const std::size_t first = begin(rank_, count, size);
      const std::size_t mine = begin(rank_ + 1, count, size) - first;
      const Data own = call.send + (at + first) * size;
      const auto operand = [&](int r) {
        return r == rank_ ? own : cells_.await(port, r, step, call.tag, count * size) + first * size;
      };
      // All operands are awaited before the cell of the results is opened (see above).
      for (const int r : order_) operand(r);
      const Data cell = cells_.open(port, step + 1, count * size);
      const Data result = call.receive + (at + first) * size;
      const bool kept = call.keeps_operand(rank_);
      const Data to = kept ? result : cell;
      if (mine != 0) {
        Data left = operand(0);
        for (int r = 1; r < ranks_; ++r) {
          port.combine(call.op, to, left, operand(r), mine);
          left = to;
        }
        if (kept) port.move(cell, result, mine * size, cells_.stores());
      }
      cells_.publish(port, step + 1, call.tag);
      if (mine != 0 && !kept) port.move(result, cell, mine * size);
    }

    void take(Port& port, const Call& call, std::size_t at, std::size_t count, std::uint64_t step) {
      const std::size_t size = call.op.element_bytes;
      for (const int r : order_) {
        const std::size_t first = begin(r, count, size);
        const std::size_t theirs = begin(r + 1, count, size) - first;
        const Data result = cells_.await(port, r, step, call.tag, count * size);
        if (theirs != 0)
          port.move(call.receive + (at + first) * size, result, theirs * size, result_stores(call.bytes()));
      }
    }

    Cells<Port> cells_;
    PeerOrder order_;
    std::uint64_t steps_ = 0;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
