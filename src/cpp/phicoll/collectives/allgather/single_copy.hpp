#pragma once

// phicoll's allgather for large blocks, regular and vector: every rank copies everyone's block from where it
// lies. Where any rank's block cannot be reached by its peers, all go through cells in shared memory: each
// sees everyone's word on it, so all decide alike. A rank returns when all have read its block.

#include <algorithm>

#include "phicoll/collectives/allgather/one_shot.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/structure/peer_order.hpp"
#include "phicoll/collectives/transport/exposure.hpp"
#include "phicoll/collectives/transport/result_stores.hpp"

namespace phicoll {

struct SingleCopyAllgather : AlgorithmDefaults {
  struct Parameters {
    int piece = 1 << 20;
    int cells = 64;
  };

  static AlgorithmFacts facts() {
    return {"single-copy", Origin::phicoll, "phicoll",
            "every rank copies everyone's block from where it lies"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("piece", p.piece, 4096, 1 << 30, "bytes that are copied from one rank before the next");
    visitor.integer("cells", p.cells, 2, 4096, "cells of the other way, where buffers cannot be reached");
  }

  static OneShotAllgather::Parameters other(const Parameters& p, const Shape& shape) {
    OneShotAllgather::Parameters way;
    way.cells = p.cells;
    OneShotAllgather::limit(way, shape);
    return way;
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return exposures_footprint(shape.size()) + OneShotAllgather::footprint(other(p, shape), shape);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : exposures_(setup, 0),
          piece_(static_cast<std::size_t>(p.piece)),
          cells_(other(p, setup.shape),
                 Setup{setup.rank, setup.shape, setup.memory + exposures_footprint(setup.size())}),
          order_(setup),
          stores_(setup.shape),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      exposures_.publish(port, call.tag, call.send, call.count, Data(), 0);
      bool reached = true;
      for (const int r : order_) {
        if (call.block_count(r) != 0 && !exposures_.await(port, r).send) reached = false;
      }
      reached = reached && (call.count == 0 || port.exposable(call.send, call.count));
      if (reached) {
        std::size_t most = 0;
        for (int r = 0; r < ranks_; ++r) most = std::max(most, call.block_count(r));
        for (std::size_t done = 0; done < most; done += piece_) {
          for (const int r : order_) {
            if (done < call.block_count(r))
              port.fetch(call.receive + (call.block_at(r) + done), exposures_.await(port, r).send, done,
                         std::min(piece_, call.block_count(r) - done));
          }
        }
        const Data own = call.receive + call.block_at(rank_);
        if (own != call.send) port.move(own, call.send, call.count, stores_.exchanged(call.count));
      }
      exposures_.finish(port);
      for (const int r : order_) exposures_.await_finish(port, r);
      if (!reached) cells_(port, call);
    }

   private:
    Exposures<Port> exposures_;
    std::size_t piece_;
    OneShotAllgather::Rank<Port> cells_;
    PeerOrder order_;
    ResultStores stores_;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
