#pragma once

// phicoll's alltoall for middle messages, regular and vector: in turn s rank r sends a piece to rank (r + s)
// mod P and takes one from rank (r - s) mod P, piece after piece. In (piece, turn) a rank waits only for what
// its peer does in the same or an earlier (piece, turn), so no waits form a circle, whatever the counts.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/transport/mailbox.hpp"
#include "phicoll/collectives/transport/move_some.hpp"

namespace phicoll {

// Ranks that share CPUs send a piece to each before they take any, if there is a cell for each: so they give
// up their CPU once per piece instead of once per turn. A sender then waits only for what a peer takes in an
// earlier piece or call. They take from ranks of their own CPU first, and so let these send; otherwise the
// first rank of each CPU may wait long for the second one of the other.
struct MailboxAlltoall : AlgorithmDefaults {
  struct Parameters {
    int cell = 16384;
    int cells = 64;
    DirectParameters direct;
  };

  static AlgorithmFacts facts() {
    return {"mailbox", Origin::phicoll, "phicoll",
            "in each turn a piece to one rank and a piece from another"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("cell", p.cell, max_element_bytes, 1 << 20, "bytes of a piece");
    visitor.integer("cells", p.cells, 2, 1024, "pieces under way from a rank");
    describe_direct(visitor, p.direct);
  }

  static void limit(Parameters& p, const Shape& shape) {
    limit_mailbox(shape.size(), p.cells, p.cell, 2 * shape.size(), rings_bytes);
    keep_readers(shape, p.cells);
  }

  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return mailbox_footprint(shape.size(), p.cells, static_cast<std::size_t>(p.cell));
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : mailbox_(setup, 0, p.cells, static_cast<std::size_t>(p.cell), p.direct),
          rank_(setup.rank),
          ranks_(setup.size()),
          ahead_(setup.shape.sharing() && p.cells >= setup.size() - 1) {
      if (!ahead_) return;
      const std::vector<int> cpus = setup.shape.groups(Level::cpu);
      const auto cpu_of = [&](int turn) { return cpus[static_cast<std::size_t>(peer(-turn))]; };
      for (const bool here : {true, false})
        for (int turn = 1; turn < ranks_; ++turn)
          if ((cpu_of(turn) == cpu_of(0)) == here) order_.push_back(turn);
    }

    void operator()(Port& port, const Call& call) {
      move_some(port, call.receive + call.block_at(rank_), call.send + call.send_block_at(rank_),
                call.block_count(rank_));
      std::size_t most = call.vector ? 1 : 0;  // a message at least, see mailbox.hpp
      for (int r = 0; r < ranks_; ++r)
        if (r != rank_) most = std::max(most, std::max(call.block_count(r), call.send_block_count(r)));
      const auto turns = static_cast<std::uint64_t>(ranks_ - 1);
      std::uint64_t m = 0;
      for (std::size_t at = 0; at < most; at += mailbox_.bytes()) {
        const auto taken = [&](int turn) {
          take(port, call, peer(-turn), at, m + static_cast<std::uint64_t>(turn - 1));
        };
        for (int turn = 1; turn < ranks_; ++turn) {
          send(port, call, peer(turn), at, m + static_cast<std::uint64_t>(turn - 1));
          if (!ahead_) taken(turn);
        }
        for (const int turn : order_) taken(turn);
        m += turns;
      }
      mailbox_.settle(port);
      mailbox_.next_call(turns * (call.vector && ranks_ != 2 ? 1 : mailbox_.cells_of(most)));
    }

   private:
    int peer(int turn) const { return (rank_ + turn + ranks_) % ranks_; }
    void send(Port& port, const Call& call, int to, std::size_t at, std::uint64_t m) {
      const std::size_t count = call.send_block_count(to);
      if (at >= count && at != 0) return;
      const std::size_t bytes = std::min(mailbox_.bytes(), count - at);
      const Data block = call.send + call.send_block_at(to);
      mailbox_.offer(port, to, m, counted(call, count), block + at, bytes,
                     mailbox_.direct(port, block, count, bytes));
    }
    void take(Port& port, const Call& call, int from, std::size_t at, std::uint64_t m) {
      const std::size_t count = call.block_count(from);
      if (at >= count && at != 0) return;
      const std::size_t bytes = std::min(mailbox_.bytes(), count - at);
      const Data cell = mailbox_.await(port, from, m, counted(call, count), bytes);
      move_some(port, call.receive + (call.block_at(from) + at), cell, bytes, Stores::taken);
      mailbox_.finish(port, from, m);
    }

    Mailbox<Port> mailbox_;
    int rank_;
    int ranks_;
    bool ahead_;
    std::vector<int> order_;  // of the turns in which this rank takes, if it sends ahead
  };
};

}  // namespace phicoll
