#pragma once

// phicoll's gather for small and middle messages, regular and vector: every rank sends its block to the root
// in pieces. The others wait only when their own ring is full, or for the root to read a large block in place
// or to copy it together with them.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/structure/peer_order.hpp"
#include "phicoll/collectives/transport/faster_copy.hpp"
#include "phicoll/collectives/transport/mailbox.hpp"
#include "phicoll/collectives/transport/move_some.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

struct MailboxGather : AlgorithmDefaults {
  struct Parameters {
    int cell = 16384;
    int cells = 128;
    int once = 0;
    DirectParameters direct;
    int put = 0;
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
    describe_put(visitor, p.put);
  }

  static void limit(Parameters& p, const Shape& shape) {
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
          faster_(setup, copies_at(p, setup.size()), p.once, true, p.put),
          copied_(static_cast<std::size_t>(setup.size())) {}

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
      if (call.count > mailbox_.bytes() || faster_.begins(call.count) || !mailbox_.opens(port, 0) ||
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
      if (own != call.send) port.write_value(own, port.read_value(call.send, call.count), call.count);
      for (const int r : order_) {
        port.write_value(call.receive + call.block_at(r), mailbox_.take(port, r, 0, call.tag), call.count);
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
      if (begins(call, call.count) && send_together(port, call, tag, direct)) return;
      std::uint64_t m = 0;
      std::size_t at = 0;
      do {
        const std::size_t bytes = std::min(mailbox_.bytes(), call.count - at);
        mailbox_.offer(port, call.root, m++, tag, call.send + at, bytes, direct);
        at += bytes;
      } while (at < call.count);
      mailbox_.settle(port);
    }

    // Returns whether this rank and the root have copied the block together.
    [[gnu::noinline]] bool send_together(Port& port, const Call& call, std::uint64_t tag, bool direct) {
      // Of a block in reach, the root's buffer decides: the root has begun the call, or this rank waits for
      // it.
      const bool offered = faster_.joins(call.count) && port.reachable(call.send, call.count);
      Exposed to{0, 0, 0};
      if (offered) to = faster_.begin(port, call.tag, call.root, call.send, call.count);
      if (!(to && Port::direct(to)) && !faster_.together(port, call.send, call.count, direct)) {
        if (!offered) faster_.skip();
        return false;
      }
      mailbox_.send_direct(port, 0, tag, call.send);
      if (!offered) to = faster_.begin(port, call.tag, call.root, call.send, call.count);
      // The root of two began with this rank's block alone.
      faster_.copy(port, call.root, to, call.send, ranks_ == 2 ? 0 : call.block_at(rank_), call.count);
      mailbox_.settle(port);
      return true;
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
        if (serves(port, block, count)) faster_.serve(port, from, block, 0, count);
        faster_.finish_root(port);
        faster_.await_end(port, from);
        mailbox_.finish(port, from, 0);
      }
      if (faster_.chooses(count)) faster_.took(port, place, count, port.now() - begun);
    }
    /// Whether the root copies some of a block that another rank copies to `to`. If they are far, that rank
    /// stores it sooner than this one reads it from there.
    static bool serves(Port& port, Data to, std::size_t bytes) {
      return !port.reachable(to, bytes) || port.near(bytes);
    }
    /// Whether a call with such a block may be copied together, as all ranks know. In a vector call the root
    /// must see first that the sender's count is the one it expects: what is stored at once might pass the
    /// end of its block.
    bool begins(const Call& call, std::size_t bytes) const { return !call.vector && faster_.begins(bytes); }
    // Each rank stores its block into `receive` while this one copies what is left of one after the other.
    [[gnu::noinline]] void collect_together(Port& port, const Call& call) {
      const std::size_t all = call.count * static_cast<std::size_t>(ranks_);
      faster_.begin_root(port, call.tag, call.receive, port.reachable(call.receive, all) ? all : 0);
      take_own(port, call);
      bool other = false;
      for (const int r : order_) {
        MessagePlace place;
        mailbox_.await(port, r, 0, counted(call, call.count), std::min(mailbox_.bytes(), call.count), place);
        if (place == MessagePlace::cell) {
          other = true;
          continue;
        }
        copied_[static_cast<std::size_t>(r)] = 1;
        if (serves(port, call.receive, all))
          faster_.serve(port, r, call.receive, call.block_at(r), call.count);
      }
      faster_.finish_root(port);
      for (const int r : order_) {
        if (!copied_[static_cast<std::size_t>(r)]) continue;
        faster_.await_end(port, r);
        mailbox_.finish(port, r, 0);
      }
      if (other) take_pieces(port, call, call.count);
      std::fill(copied_.begin(), copied_.end(), static_cast<unsigned char>(0));
    }
    void collect(Port& port, const Call& call) {
      if (ranks_ == 2 && begins(call, call.block_count(1 - rank_))) return collect_large(port, call);
      if (ranks_ != 2 && begins(call, call.count)) return collect_together(port, call);
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
          if ((at >= count && at != 0) || copied_[static_cast<std::size_t>(r)]) continue;
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
    AlignedVector<unsigned char> copied_;  // whether a rank's block was copied together in this call
  };
};

}  // namespace phicoll
