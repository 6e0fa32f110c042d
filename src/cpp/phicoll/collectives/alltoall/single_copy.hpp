#pragma once

// phicoll's alltoall for large blocks of one size: every rank copies its block of everyone's send buffer from
// where it lies. Where any rank's buffer cannot be reached by its peers, all go through cells: each sees everyone's word
// on it, so all decide alike. A rank returns when all have read their blocks.
//
// With choose=1 a rank also withholds its buffer where cells were faster lately, by its own timing (copy_ways.hpp).

#include <algorithm>

#include "phicoll/collectives/alltoall/one_shot.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/structure/peer_order.hpp"
#include "phicoll/collectives/transport/copy_ways.hpp"
#include "phicoll/collectives/transport/exposure.hpp"
#include "phicoll/collectives/transport/result_stores.hpp"

namespace phicoll {

struct SingleCopyAlltoall : AlgorithmDefaults {
  struct Parameters {
    int piece = 1 << 20;
    int choose = 0;
    int cell = 1 << 18;
    int cells = 8;
  };

  static AlgorithmFacts facts() {
    return {"single-copy", Origin::phicoll, "phicoll",
            "every rank copies its block of everyone's buffer from where it lies"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("piece", p.piece, 4096, 1 << 30, "bytes that are copied from one rank before the next");
    visitor.integer("choose", p.choose, 0, 1,
                    "whether the other way is taken, too, where it was faster lately");
    visitor.integer("cell", p.cell, 1024, 1 << 20,
                    "bytes of a cell of the other way, where buffers cannot be reached");
    visitor.integer("cells", p.cells, 2, 4096, "its cells");
  }
  static const char* unfit(const Parameters&, const Shape&, const CallFacts& facts) {
    return facts.vector ? "blocks of one size" : nullptr;
  }

  static OneShotAlltoall::Parameters other(const Parameters& p, const Shape& shape) {
    OneShotAlltoall::Parameters way;
    way.cell = p.cell;
    way.cells = p.cells;
    OneShotAlltoall::limit(way, shape);
    return way;
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return exposures_footprint(shape.size()) + OneShotAlltoall::footprint(other(p, shape), shape);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : exposures_(setup, 0),
          piece_(static_cast<std::size_t>(p.piece)),
          choose_(p.choose != 0),
          cells_(other(p, setup.shape),
                 Setup{setup.rank, setup.shape, setup.memory + exposures_footprint(setup.size())}),
          order_(setup),
          stores_(setup.shape),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      if (call.count == 0) return;
      const std::size_t all = call.count * static_cast<std::size_t>(ranks_);
      if (!choose_ || all < CopyWays::least_bytes) {
        exchange(port, call, all, true);
        return;
      }
      ways_.time(port, all, port.reachable(call.send, all),
                 [&, all](bool offered) { return exchange(port, call, all, offered); });
    }

   private:
    /// Returns whether each block was copied once.
    bool exchange(Port& port, const Call& call, std::size_t all, bool offered) {
      const auto at = [&](int r) { return static_cast<std::size_t>(r) * call.count; };
      exposures_.publish(port, call.tag, call.send, offered ? all : 0, Data(), 0);
      bool once = offered && port.exposable(call.send, all);
      for (const int r : order_)
        if (!exposures_.await(port, r).send) once = false;
      if (once) {
        const Stores stores = stores_.exchanged(call.count);
        for (std::size_t done = 0; done < call.count; done += piece_) {
          const std::size_t bytes = std::min(piece_, call.count - done);
          for (const int r : order_)
            take_exposed(port, call.receive + (at(r) + done), exposures_.await(port, r).send,
                         at(rank_) + done, bytes, stores);
        }
        port.move(call.receive + at(rank_), call.send + at(rank_), call.count, stores);
      }
      exposures_.finish(port);
      for (const int r : order_) exposures_.await_finish(port, r);
      if (!once) cells_(port, call);
      return once;
    }

    Exposures<Port> exposures_;
    std::size_t piece_;
    bool choose_;
    CopyWays ways_;
    OneShotAlltoall::Rank<Port> cells_;
    PeerOrder order_;
    ResultStores stores_;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
