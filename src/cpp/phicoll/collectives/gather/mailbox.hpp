#pragma once

// phicoll's gather for small and middle messages, regular and vector: every rank sends its block to the root in pieces.
// The others wait only when their own ring is full, or for the root to read a large block in place, or, of two ranks,
// to copy one together with it.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/structure/peer_order.hpp"
#include "phicoll/collectives/transport/faster_copy.hpp"
#include "phicoll/collectives/transport/mailbox.hpp"
#include "phicoll/collectives/transport/move_some.hpp"

namespace phicoll {

struct MailboxGather : AlgorithmDefaults {
  struct Parameters {
    int cell = 16384;
    int cells = 128;
    int once = 0;
    DirectParameters direct;
  };

  static AlgorithmFacts facts() {
    return {"mailbox", Origin::phicoll, "phicoll", "all send their blocks to the root in pieces"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("cell", p.cell, max_element_bytes, 1 << 20, "bytes of a piece");
    visitor.integer("cells", p.cells, 2, 4096, "pieces that a rank may be ahead of the root");
    describe_once(visitor, p.once);
    describe_direct(visitor, p.direct);
  }

  static void limit(Parameters& p, const Shape& shape) {
    if (shape.size() != 2) p.once = 0;
    limit_mailbox(shape.size(), p.cells, p.cell, 2, rings_most);
  }

  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return copies_at(p, shape.size()) + faster_copy_footprint(shape.size(), p.once);
  }
  static std::size_t copies_at(const Parameters& p, int ranks) {
    return mailbox_footprint(ranks, p.cells, static_cast<std::size_t>(p.cell));
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : mailbox_(setup, 0, p.cells, static_cast<std::size_t>(p.cell), p.direct),
          order_(setup),
          rank_(setup.rank),
          ranks_(setup.size()),
          faster_(setup, copies_at(p, setup.size()), p.once, true) {}

    void operator()(Port& port, const Call& call) {
      if (!call.vector && call.count <= sizeof(std::uint64_t)) {
        words(port, call);
        mailbox_.next_call(1);
      } else {
        pieces(port, call);
      }
    }
    /// As in reduce/mailbox.hpp.
    Started start(Port& port, const Call& call) {
      if (ranks_ == 1 || call.count == 0) return Started::no;
      const bool word = !call.vector && call.count <= sizeof(std::uint64_t);
      if (rank_ == call.root) {
        for (int r = 0; word && r < ranks_; ++r)
          if (r != rank_) mailbox_.expect(port, r, 0);
        return Started::half;
      }
      if (call.count > mailbox_.bytes() || faster_.chooses(call.count) || !mailbox_.opens(port, 0) ||
          (!word && mailbox_.direct(port, call.send, call.count, call.count)))
        return Started::no;
      (*this)(port, call);
      return Started::whole;
    }
    void complete(Port& port, const Call& call) { (*this)(port, call); }

   private:
    void words(Port& port, const Call& call) {
      if (call.count == 0) return;
      if (rank_ != call.root) return mailbox_.post(port, 0, call.send, call.count, call.tag);
      const Data own = call.receive + call.block_at(rank_);
      if (own != call.send) write_value(port, own, read_value(port, call.send, call.count), call.count);
      for (const int r : order_) {
        write_value(port, call.receive + call.block_at(r), mailbox_.take(port, r, 0, call.tag), call.count);
        mailbox_.finish(port, r, 0);
      }
    }
    [[gnu::noinline]] void pieces(Port& port, const Call& call) {
      if (rank_ == call.root)
        collect(port, call);
      else
        send(port, call);
      mailbox_.next_call(call.vector && ranks_ != 2 ? 1 : mailbox_.cells_of(sent(call)));
    }
    /// Bytes that a rank sends, if all send as many or there are two.
    std::size_t sent(const Call& call) const {
      return rank_ == call.root ? call.block_count(1 - rank_) : call.count;
    }
    void send(Port& port, const Call& call) {
      const std::uint64_t tag = counted(call, call.count);
      const bool direct = mailbox_.direct(port, call.send, call.count, call.count);
      if (faster_.together(port, call.send, call.count, direct)) {
        mailbox_.send_direct(port, 0, tag, call.send);
        faster_.exchange(port, call.tag, call.root, call.send, call.count);
        return mailbox_.settle(port);
      }
      if (faster_.chooses(call.count)) faster_.skip();
      std::uint64_t m = 0;
      std::size_t at = 0;
      do {
        const std::size_t bytes = std::min(mailbox_.bytes(), call.count - at);
        mailbox_.offer(port, call.root, m++, tag, call.send + at, bytes, direct);
        at += bytes;
      } while (at < call.count);
      mailbox_.settle(port);
    }

    void take_own(Port& port, const Call& call) {
      move_some(port, call.receive + call.block_at(rank_), call.send, call.block_count(rank_));
    }
    // The other of two ranks can copy its block while this one copies its own, or fill its ring.
    [[gnu::noinline]] void collect_large(Port& port, const Call& call) {
      const int from = 1 - rank_;
      const std::size_t count = call.block_count(from);
      const Data block = call.receive + call.block_at(from);
      faster_.begin_root(port, call.tag, block, count);
      take_own(port, call);
      MessagePlace place;
      mailbox_.await(port, from, 0, counted(call, count), std::min(mailbox_.bytes(), count), place);
      const std::int64_t begun = port.now();
      if (place == MessagePlace::cell) {
        take_pieces(port, call, count);
      } else {
        faster_.end_root(port, block, count);
        mailbox_.finish(port, from, 0);
      }
      faster_.took(port, place, count, port.now() - begun);
    }
    void collect(Port& port, const Call& call) {
      if (ranks_ == 2 && faster_.chooses(call.block_count(1 - rank_))) return collect_large(port, call);
      take_own(port, call);
      std::size_t most = 0;
      for (int r = 0; r < ranks_; ++r)
        if (r != rank_) most = std::max(most, call.block_count(r));
      take_pieces(port, call, most);
    }
    // Piece by piece from all, so that all can go on filling their rings.
    void take_pieces(Port& port, const Call& call, std::size_t most) {
      std::uint64_t m = 0;
      std::size_t at = 0;
      do {
        for (const int r : order_) {
          const std::size_t count = call.block_count(r);
          if (at >= count && at != 0) continue;
          const std::size_t bytes = std::min(mailbox_.bytes(), count - at);
          const Data cell = mailbox_.await(port, r, m, counted(call, count), bytes);
          move_some(port, call.receive + (call.block_at(r) + at), cell, bytes, Stores::taken);
          mailbox_.finish(port, r, m);
        }
        at += mailbox_.bytes();
        ++m;
      } while (at < most);
    }

    Mailbox<Port> mailbox_;
    PeerOrder order_;
    int rank_;
    int ranks_;
    FasterCopy<Port> faster_;
  };
};

}  // namespace phicoll
