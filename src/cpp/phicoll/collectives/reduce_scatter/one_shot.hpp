#pragma once

// phicoll's reduce-scatter, regular and vector: every rank publishes a part of all its blocks at once and
// combines, in rank order, what all have published for its own. Two cells a rank suffice without
// acknowledgements, as in the one-shot allreduce. A rank's own share stays where it is, unless the result may
// lie on top of it (in place).

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/collectives/structure/peer_order.hpp"
#include "phicoll/collectives/transport/cells.hpp"
#include "phicoll/collectives/transport/in_rank_order.hpp"

namespace phicoll {

struct OneShotReduceScatter : AlgorithmDefaults {
  struct Parameters {
    int part = 8192;
    int cells = 128;
    DirectParameters direct;
  };

  static AlgorithmFacts facts() {
    return {"one-shot", Origin::phicoll, "phicoll",
            "every rank publishes all its blocks and combines everyone's share of its own"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("part", p.part, max_element_bytes, 1 << 20,
                    "bytes of a block that are published at once");
    visitor.integer("cells", p.cells, 2, 4096, "cells of a rank, used in turn");
    describe_direct(visitor, p.direct);
  }

  static void limit(Parameters& p, const Shape& shape) {
    p.cells = cells_within(shape.size(), shape.size(), p.cells, cell(p, shape.size()));
    limit_bytes(
        p.part, max_element_bytes, [&] { return footprint(p, shape); }, most_buffers / 2);
  }
  static bool in_rank_order(const Parameters&) { return true; }

  static std::size_t cell(const Parameters& p, int ranks) {
    return static_cast<std::size_t>(p.part) * static_cast<std::size_t>(std::min(ranks, 64));
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return cells_footprint(shape.size(), shape.size(), p.cells, cell(p, shape.size()));
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : cells_(setup, 0, setup.size(), p.cells, cell(p, setup.size()), Credit::implied, p.direct),
          order_(setup),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      std::size_t most = 0;
      for (int r = 0; r < ranks_; ++r) most = std::max(most, call.block_count(r));
      const std::size_t size = call.op.element_bytes;
      const std::size_t sent = (call.block_at(ranks_ - 1) + call.block_count(ranks_ - 1)) * size;
      const bool apart = call.receive.at >= call.send.at + sent ||
                         call.receive.at + call.block_count(rank_) * size <= call.send.at;
      const Way way{apart,
                    apart && port.reachable(call.send, sent) && cells_.direct(port, call.send, most * size)};
      const std::size_t all = cells_.bytes() / call.op.element_bytes;  // elements of all blocks together
      const std::size_t part = all / static_cast<std::size_t>(ranks_);
      if (part != 0)
        for (std::size_t at = 0; at < most; at += part)
          exchange(port, call, at, std::min(part, most - at), 0, ranks_, way);
      else
        for (std::size_t at = 0; at < most; ++at)
          for (int first = 0; first < ranks_; first += static_cast<int>(all))
            exchange(port, call, at, 1, first, std::min(ranks_, first + static_cast<int>(all)), way);
      cells_.settle(port, steps_);
    }

   private:
    struct Way {
      bool apart;   // the result does not lie in this rank's data
      bool direct;  // which is read where it lies
    };
    static std::size_t piece(const Call& call, int r, std::size_t at, std::size_t part) {
      return at >= call.block_count(r) ? 0 : std::min(part, call.block_count(r) - at);
    }
    // Elements at..at+part of the blocks of ranks first..end-1. In place the result lies on block 0, whose
    // elements so far are all published by then: `receive` is written at `at` after this rank's part was
    // published.
    void exchange(Port& port, const Call& call, std::size_t at, std::size_t part, int first, int end,
                  Way way) {
      const std::size_t size = call.op.element_bytes;
      const std::uint64_t step = steps_++;
      const std::size_t all = static_cast<std::size_t>(end - first) * part * size;
      if (way.direct) {
        cells_.publish_direct(port, step, call.tag, call.send);
      } else {
        const Data cell = cells_.open(port, step, all);
        for (int r = first; r < end; ++r) {
          if (way.apart && r == rank_) continue;
          port.move(cell + static_cast<std::size_t>(r - first) * part * size,
                    call.send + (call.block_at(r) + at) * size, piece(call, r, at, part) * size,
                    cells_.stores(port, r));
        }
        cells_.publish(port, step, call.tag);
      }
      if (order_.sharing())
        for (const int r : order_) cells_.await(port, r, step, call.tag, all);
      const std::size_t mine = rank_ >= first && rank_ < end ? piece(call, rank_, at, part) : 0;
      const std::size_t where = mine != 0 ? static_cast<std::size_t>(rank_ - first) * part * size : 0;
      const Data result = call.receive + at * size;
      const std::size_t in_send = (call.block_at(rank_) + at) * size;
      const Data own = way.apart ? call.send + in_send : cells_.own(port, step, all) + where;
      const auto operand = [&, step, all, where, in_send](int r) {
        return r == rank_ ? own : cells_.await(port, r, step, call.tag, all, where, in_send);
      };
      if (mine == 0) {
        for (int r = 0; r < ranks_; ++r) operand(r);
      } else {
        combine_in_rank_order(port, call.op, ranks_, result, mine, operand);
        if (ranks_ == 1) port.move(result, own, mine * size);
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
