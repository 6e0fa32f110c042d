#pragma once

// Allgather and alltoall of large blocks: every rank copies its block of everyone's send buffer from where it
// lies. Where any rank's buffer cannot be reached by its peers, all go through cells: each sees everyone's
// word on it, so all decide alike. A rank returns when all have read what they want.
//
// With choose=1 a rank also withholds its buffer where cells were faster lately, by its own timing
// (copy_ways.hpp). Among more than two ranks only every eighth of the first calls tries a single copy, which
// may take twice the cells' time.

#include <algorithm>
#include <cstddef>

#include "phicoll/collectives/structure/peer_order.hpp"
#include "phicoll/collectives/transport/copy_ways.hpp"
#include "phicoll/collectives/transport/exposure.hpp"
#include "phicoll/collectives/transport/result_stores.hpp"
#include "phicoll/collectives/transport/single_copy.hpp"

namespace phicoll {

/// `Other` is the algorithm through cells; `personalized`: each rank has a different block for each other
/// rank (alltoall), not one for all.
template <class Other, bool personalized>
struct SingleCopyExchange : SingleCopy<Other> {
  using Base = SingleCopy<Other>;

  struct Parameters {
    int piece = 1 << 20;
    int choose = 0;
    int cell = personalized ? 1 << 18 : 16384;
    int cells = personalized ? 8 : 64;
  };

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("piece", p.piece, 4096, 1 << 30, "bytes that are copied from one rank before the next");
    visitor.integer("choose", p.choose, 0, 1,
                    "whether the other way is taken, too, where it was faster lately");
    visitor.integer("cell", p.cell, personalized ? 1024 : 64, 1 << 20,
                    "bytes of a cell of the other way, where buffers cannot be reached");
    visitor.integer("cells", p.cells, 2, 4096, "its cells");
  }
  static const char* unfit(const Parameters&, const Shape&, const CallFacts& facts) {
    return personalized && facts.vector ? "blocks of one size" : nullptr;
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : exposures_(setup, 0),
          piece_(static_cast<std::size_t>(p.piece)),
          choose_(p.choose != 0),
          ways_(setup.size() == 2 ? 2u : 8u),
          cells_(Base::other(p, setup.shape), Base::behind(setup)),
          order_(setup),
          stores_(setup.shape),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      std::size_t all = 0;  // bytes that a rank receives, which all know
      for (int r = 0; r < ranks_; ++r) all += call.block_count(r);
      if (all == 0) return;
      if (choose_ && all >= CopyWays::least_bytes)
        ways_.time(port, all, port.reachable(call.send, sent(call)),
                   [&](bool offered) { return exchange(port, call, offered); });
      else
        exchange(port, call, true);
    }

   private:
    std::size_t sent(const Call& call) const {
      return personalized ? call.count * static_cast<std::size_t>(ranks_) : call.count;
    }
    /// Returns whether each block was copied once.
    bool exchange(Port& port, const Call& call, bool offered) {
      exposures_.publish(port, call.tag, call.send, offered ? sent(call) : 0, Data(), 0);
      bool once = call.count == 0 || (offered && port.exposable(call.send, sent(call)));
      for (const int r : order_)
        if (call.block_count(r) != 0 && !exposures_.await(port, r).send) once = false;
      if (!once) {
        // No `finish` is needed: a rank stores its first piece after it has read all exposures, and all await
        // that piece.
        cells_(port, call);
        return false;
      }
      // Where this rank's block lies in anyone's buffer.
      const std::size_t at = personalized ? static_cast<std::size_t>(rank_) * call.count : 0;
      std::size_t most = 0;
      for (int r = 0; r < ranks_; ++r) most = std::max(most, call.block_count(r));
      const Stores stores = stores_.exchanged(call.count);
      for (std::size_t done = 0; done < most; done += piece_) {
        for (const int r : order_) {
          if (done < call.block_count(r))
            take_exposed(port, call.receive + (call.block_at(r) + done), exposures_.await(port, r).send,
                         at + done, std::min(piece_, call.block_count(r) - done), stores);
        }
      }
      const Data own = call.receive + call.block_at(rank_);
      if (own != call.send + at) port.move(own, call.send + at, call.count, stores);
      exposures_.finish(port);
      for (const int r : order_) exposures_.await_finish(port, r);
      return true;
    }

    Exposures<Port> exposures_;
    std::size_t piece_;
    bool choose_;
    CopyWays ways_;
    typename Other::template Rank<Port> cells_;
    PeerOrder order_;
    ResultStores stores_;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
