#pragma once

// phicoll's alltoall for large blocks of one size: every rank copies its block of everyone's send buffer from
// where it lies. Where any rank's buffer cannot be reached by its peers, all go through the mailbox: each
// sees everyone's word on it, so all decide alike. A rank returns when all have read their blocks.

#include <algorithm>

#include "phicoll/collectives/alltoall/mailbox.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/structure/peer_order.hpp"
#include "phicoll/collectives/transport/exposure.hpp"
#include "phicoll/collectives/transport/result_stores.hpp"

namespace phicoll {

struct SingleCopyAlltoall : AlgorithmDefaults {
  struct Parameters {
    int piece = 1 << 20;
    int cells = 64;
  };

  static AlgorithmFacts facts() {
    return {"single-copy", Origin::phicoll, "phicoll",
            "every rank copies its block of everyone's buffer from where it lies"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("piece", p.piece, 4096, 1 << 30, "bytes that are copied from one rank before the next");
    visitor.integer("cells", p.cells, 2, 4096, "cells of the other way, where buffers cannot be reached");
  }
  static const char* unfit(const Parameters&, const Shape&, const CallFacts& facts) {
    return facts.vector ? "blocks of one size" : nullptr;
  }

  static MailboxAlltoall::Parameters other(const Parameters& p, const Shape& shape) {
    MailboxAlltoall::Parameters way;
    way.cells = p.cells;
    MailboxAlltoall::limit(way, shape);
    return way;
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return exposures_footprint(shape.size()) + MailboxAlltoall::footprint(other(p, shape), shape);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : exposures_(setup, 0),
          piece_(static_cast<std::size_t>(p.piece)),
          mailbox_(other(p, setup.shape),
                   Setup{setup.rank, setup.shape, setup.memory + exposures_footprint(setup.size())}),
          order_(setup),
          stores_(setup.shape),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      if (call.count == 0) return;
      const std::size_t all = call.count * static_cast<std::size_t>(ranks_);
      const auto at = [&](int r) { return static_cast<std::size_t>(r) * call.count; };
      exposures_.publish(port, call.tag, call.send, all, Data(), 0);
      bool reached = port.exposable(call.send, all);
      for (const int r : order_)
        if (!exposures_.await(port, r).send) reached = false;
      if (reached) {
        for (std::size_t done = 0; done < call.count; done += piece_) {
          const std::size_t bytes = std::min(piece_, call.count - done);
          for (const int r : order_)
            port.fetch(call.receive + (at(r) + done), exposures_.await(port, r).send, at(rank_) + done,
                       bytes);
        }
        port.move(call.receive + at(rank_), call.send + at(rank_), call.count, stores_.exchanged(call.count));
      }
      exposures_.finish(port);
      for (const int r : order_) exposures_.await_finish(port, r);
      if (!reached) mailbox_(port, call);
    }

   private:
    Exposures<Port> exposures_;
    std::size_t piece_;
    MailboxAlltoall::Rank<Port> mailbox_;
    PeerOrder order_;
    ResultStores stores_;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
