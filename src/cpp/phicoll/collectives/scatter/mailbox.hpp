#pragma once

// phicoll's scatter for small and middle messages, regular and vector: the root sends each rank its block in
// pieces, turn by turn. It waits only when the ring is full, or for ranks that read large blocks in place or,
// of two, copy one together with it (once=1).
//
// There is one ring, which belongs to whoever is the root. With a ring per rank, a root would have only a
// part of the memory, down to one cell for each reader.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/transport/faster_copy.hpp"
#include "phicoll/collectives/transport/mailbox.hpp"
#include "phicoll/collectives/transport/move_some.hpp"

namespace phicoll {

struct MailboxScatter : AlgorithmDefaults {
  struct Parameters {
    int cell = 16384;
    int cells = 256;
    int once = 0;
    DirectParameters direct;
  };

  static AlgorithmFacts facts() {
    return {"mailbox", Origin::phicoll, "phicoll", "the root sends each rank its block in pieces"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("cell", p.cell, max_element_bytes, 1 << 20, "bytes of a piece");
    visitor.integer("cells", p.cells, 2, 1024, "pieces under way from a root");
    describe_once(visitor, p.once);
    describe_direct(visitor, p.direct);
  }

  static void limit(Parameters& p, const Shape& shape) {
    if (shape.size() != 2) p.once = 0;
    limit_mailbox(1, p.cells, p.cell, 2 * shape.size(), rings_most);
    // Rings of many small cells stay powers of two, whose cells are found without a division.
    if (p.cell > 4096) keep_readers(shape, p.cells);
  }

  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return copies_at(p, shape.size()) + faster_copy_footprint(shape.size(), p.once);
  }
  static std::size_t copies_at(const Parameters& p, int ranks) {
    return one_ring_footprint(ranks, p.cells, static_cast<std::size_t>(p.cell));
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : mailbox_(setup, 0, p.cells, static_cast<std::size_t>(p.cell), p.direct, Rings::one),
          rank_(setup.rank),
          ranks_(setup.size()),
          takes_(setup.size() == 2 ? Stores::received : Stores::taken),
          faster_(setup, copies_at(p, setup.size()), p.once, false) {}

    void operator()(Port& port, const Call& call) {
      if (!call.vector && call.count <= sizeof(std::uint64_t)) {
        if (call.count == 0) return;
        words(port, call);
        mailbox_.next_call(message(1, 1));
      } else {
        pieces(port, call);
      }
    }
    /// As in broadcast/ring.hpp.
    Started start(Port& port, const Call& call) {
      if (ranks_ == 1 || call.count == 0) return Started::no;
      if (rank_ != call.root) {
        if (!call.vector && call.count <= sizeof(std::uint64_t))
          mailbox_.expect(port, call.root, message(0, (rank_ - call.root + ranks_) % ranks_));
        return Started::half;
      }
      if (call.vector || call.count > mailbox_.bytes() || faster_.chooses(call.count) ||
          !mailbox_.knows_last() || message(1, 1) > mailbox_.cells())
        return Started::no;
      for (int step = 1; step < ranks_; ++step)
        if (!mailbox_.opens(port, message(0, step))) return Started::no;
      for (int r = 0; r < ranks_; ++r)
        if (r != rank_ && mailbox_.direct(port, call.send + call.block_at(r), call.count, call.count))
          return Started::no;
      (*this)(port, call);
      return Started::whole;
    }
    void complete(Port& port, const Call& call) { (*this)(port, call); }

   private:
    void words(Port& port, const Call& call) {
      if (rank_ != call.root) {
        const std::uint64_t m = message(0, (rank_ - call.root + ranks_) % ranks_);
        port.write_value(call.receive, mailbox_.take(port, call.root, m, call.tag, Meanwhile::as_much),
                         call.count);
        mailbox_.finish(port, call.root, m);
        return mailbox_.passed(message(1, 1));
      }
      mailbox_.await_left(port);
      for (int step = 1; step < ranks_; ++step)
        mailbox_.post(port, message(0, step), call.send + call.block_at((rank_ + step) % ranks_), call.count,
                      call.tag);
      // In place nothing is written: the root's blocks may be memory that is read-only.
      const Data own = call.send + call.block_at(rank_);
      if (own != call.receive) port.write_value(call.receive, port.read_value(own, call.count), call.count);
    }
    // Piece number `piece` of rank root + `step`, whether or not others have as many.
    std::uint64_t message(std::uint64_t piece, int step) const {
      return piece * static_cast<std::uint64_t>(ranks_ - 1) + static_cast<std::uint64_t>(step - 1);
    }

    [[gnu::noinline]] void pieces(Port& port, const Call& call) {
      if (rank_ == call.root) {
        send(port, call);
      } else {
        const std::uint64_t pieces = receive(port, call);
        if (!unknown(call)) mailbox_.passed(message(pieces, 1));
      }
      if (unknown(call)) mailbox_.leave(port, rank_ == call.root);
      mailbox_.next_call(message(unknown(call) ? 1 : mailbox_.cells_of(received(call)), 1));
    }
    /// Whether a rank knows only its own block's size. The first message of a block of at most 8 bytes then
    /// goes through a slot: ranks that share a CPU find their blocks in the line that one of them has
    /// fetched.
    bool unknown(const Call& call) const { return call.vector && ranks_ != 2; }
    static bool in_slot(std::size_t count) { return count <= sizeof(std::uint64_t); }
    /// Bytes that a rank receives, if all receive as many or there are two.
    std::size_t received(const Call& call) const {
      return rank_ == call.root ? call.block_count(1 - rank_) : call.count;
    }
    void send(Port& port, const Call& call) {
      mailbox_.await_left(port);
      if (ranks_ == 2 && together(port, call)) return send_together(port, call);
      send_pieces(port, call);
    }
    void send_pieces(Port& port, const Call& call) {
      std::size_t most = 0;
      for (int step = 1; step < ranks_; ++step) most = std::max(most, send_first(port, call, step));
      std::uint64_t piece = 1;
      for (std::size_t at = mailbox_.bytes(); at < most; at += mailbox_.bytes(), ++piece)
        for (int step = 1; step < ranks_; ++step) {
          const int r = (rank_ + step) % ranks_;
          const std::size_t count = call.block_count(r);
          if (at >= count) continue;
          const std::size_t bytes = std::min(mailbox_.bytes(), count - at);
          const Data block = call.send + call.block_at(r);
          mailbox_.offer(port, r, message(piece, step), counted(call, count), block + at, bytes,
                         stays(port, block, count, bytes));
        }
      take_own(port, call);
      mailbox_.settle(port);
    }
    /// The first piece of a block. Returns the block's bytes.
    std::size_t send_first(Port& port, const Call& call, int step) {
      const int r = (rank_ + step) % ranks_;
      const std::size_t count = call.block_count(r);
      const Data block = call.send + call.block_at(r);
      const std::size_t bytes = std::min(mailbox_.bytes(), count);
      const std::uint64_t m = message(0, step), tag = counted(call, count);
      if (unknown(call) && in_slot(count)) {
        mailbox_.post_counted(port, r, m, block, count, tag);
      } else {
        if (unknown(call)) mailbox_.announce(port, r, m, tag);
        mailbox_.offer(port, r, m, tag, block, bytes, stays(port, block, count, bytes));
      }
      return count;
    }
    /// Whether a piece of a block of `count` bytes stays in place. Not where faster_ chooses: the reader
    /// would take that for a block that both copy.
    bool stays(Port& port, Data block, std::size_t count, std::size_t bytes) const {
      return !faster_.chooses(count) && mailbox_.direct(port, block, count, bytes);
    }
    bool together(Port& port, const Call& call) const {
      const Data block = call.send + call.block_at(1 - rank_);
      const std::size_t bytes = call.block_count(1 - rank_);
      return faster_.together(port, block, bytes, mailbox_.direct(port, block, bytes, bytes));
    }
    void take_own(Port& port, const Call& call) {
      move_some(port, call.receive, call.send + call.block_at(rank_), call.block_count(rank_));
    }
    void send_together(Port& port, const Call& call) {
      const Data block = call.send + call.block_at(1 - rank_);
      const std::size_t bytes = call.block_count(1 - rank_);
      mailbox_.send_direct(port, 0, counted(call, bytes), block);
      faster_.begin_root(port, call.tag, block, bytes);
      take_own(port, call);
      faster_.end_root(port, block, bytes);
      mailbox_.settle(port);
    }

    // Returns how many messages the root has sent to this rank.
    std::uint64_t receive(Port& port, const Call& call) {
      const int step = (rank_ - call.root + ranks_) % ranks_;
      const std::uint64_t tag = counted(call, call.count);
      if (unknown(call) && in_slot(call.count)) {
        const std::uint64_t m = message(0, step);
        const std::uint64_t value = mailbox_.take_counted(port, call.root, m, tag, Meanwhile::as_much);
        if (call.count != 0) port.write_value(call.receive, value, call.count);
        mailbox_.finish(port, call.root, m);
        return 1;
      }
      if (faster_.chooses(call.count)) return receive_together(port, call, tag);
      return receive_pieces(port, call, step, tag);
    }
    // Of two ranks: the first message says whether both copy the block.
    [[gnu::noinline]] std::uint64_t receive_together(Port& port, const Call& call, std::uint64_t tag) {
      const std::uint64_t first = message(0, 1);
      MessagePlace place;
      mailbox_.await(port, call.root, first, tag, std::min(mailbox_.bytes(), call.count), place);
      const std::int64_t begun = port.now();
      std::uint64_t pieces = 1;
      if (place == MessagePlace::cell) {
        pieces = receive_pieces(port, call, 1, tag);
      } else {
        faster_.exchange(port, call.tag, call.root, call.receive, call.count);
        mailbox_.finish(port, call.root, first);
      }
      faster_.took(port, place, call.count, port.now() - begun);
      return pieces;
    }
    std::uint64_t receive_pieces(Port& port, const Call& call, int step, std::uint64_t tag) {
      std::uint64_t piece = 0;
      std::size_t at = 0;
      do {
        const std::uint64_t m = message(piece++, step);
        const std::size_t bytes = std::min(mailbox_.bytes(), call.count - at);
        const Data cell = mailbox_.await(port, call.root, m, tag, bytes, Meanwhile::as_much);
        move_some(port, call.receive + at, cell, bytes, takes_);
        mailbox_.finish(port, call.root, m);
        at += bytes;
      } while (at < call.count);
      return piece;
    }

    Mailbox<Port> mailbox_;
    int rank_;
    int ranks_;
    Stores takes_;  // `received` for two ranks: slower with more on few CPUs that are far
    FasterCopy<Port> faster_;
  };
};

}  // namespace phicoll
