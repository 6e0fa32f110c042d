#pragma once

// phicoll's reduce for small messages: every rank sends its operand to the root, which combines all in rank
// order. The others wait only when their own ring is full, or for the root's reading in place, or its room.
//
// Of two ranks the other may store its operand where the result goes (put), piece by piece; the root combines
// each piece there, and no ring displaces what both have in their caches. It does so if the root is near
// (cells are faster far away) and all reach its operand and the root's `receive`, which is not the root's
// operand.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/transport/exposure.hpp"
#include "phicoll/collectives/transport/mailbox.hpp"
#include "phicoll/ports/values.hpp"

namespace phicoll {

struct MailboxReduce : AlgorithmDefaults {
  struct Parameters {
    int cell = 8192;
    int cells = 256;
    DirectParameters direct;
    int put = 0;
  };

  static AlgorithmFacts facts() {
    return {"mailbox", Origin::phicoll, "phicoll", "all send to the root, which combines in rank order"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("cell", p.cell, max_element_bytes, 1 << 20, "bytes of a piece");
    visitor.integer("cells", p.cells, 2, 4096, "pieces that a rank may be ahead of the root");
    describe_direct(visitor, p.direct);
    describe_put(visitor, p.put);
  }

  static void limit(Parameters& p, const Shape& shape) {
    limit_mailbox(shape.size(), p.cells, p.cell, 2, rings_most);
  }
  static bool in_rank_order(const Parameters&) { return true; }

  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return rooms_at(p, shape.size()) + (puts(p, shape.size()) ? exposures_footprint(shape.size()) : 0);
  }
  static std::size_t rooms_at(const Parameters& p, int ranks) {
    return mailbox_footprint(ranks, p.cells, static_cast<std::size_t>(p.cell));
  }
  static bool puts(const Parameters& p, int ranks) { return p.put != 0 && ranks == 2; }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : mailbox_(setup, 0, p.cells, static_cast<std::size_t>(p.cell), p.direct),
          rooms_(setup, rooms_at(p, setup.size())),
          put_(puts(p, setup.size()) ? static_cast<std::size_t>(p.put) : SIZE_MAX),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      if (ranks_ == 1) {
        if (call.send != call.receive) port.move(call.receive, call.send, call.bytes());
      } else if (call.bytes() <= sizeof(std::uint64_t)) {
        word(port, call);
      } else {
        pieces(port, call);
      }
    }
    /// The root waits first of all; the others do not wait if there is room.
    Started start(Port& port, const Call& call) {
      if (call.bytes() != sizeof(std::uint64_t) || ranks_ == 1) return start_other(port, call);
      if (rank_ == call.root) {
        // Words that have come are on their way while the call is noted.
        for (int r = 0; r < ranks_; ++r)
          if (r != rank_) mailbox_.expect(port, r, 0);
        return Started::half;
      }
      if (!mailbox_.is_open(0)) return start_other(port, call);
      mailbox_.post_open(port, 0, call.send, sizeof(std::uint64_t), call.tag);
      mailbox_.next_call(1);
      return Started::whole;
    }
    void complete(Port& port, const Call& call) {
      if (ranks_ == 2 && call.bytes() <= sizeof(std::uint64_t)) return take_word(port, call);
      complete_other(port, call);
    }

   private:
    void word(Port& port, const Call& call) {
      if (rank_ != call.root)
        give_word(port, call);
      else if (ranks_ == 2)
        take_word(port, call);
      else
        take_words(port, call);
    }
    void give_word(Port& port, const Call& call) {
      if (call.count != 0) mailbox_.post(port, 0, call.send, call.bytes(), call.tag);
      mailbox_.next_call(1);
    }
    // Calls of their own, so that giving saves few registers.
    [[gnu::noinline]] void take_word(Port& port, const Call& call) {
      if (call.count == 0) return take_words(port, call);
      const int other = 1 - rank_;
      const WordPair pair(call.op, call.receive, call.send, call.count, rank_, mailbox_.place(other, 0));
      Word<std::uint64_t>& acknowledgement = mailbox_.acknowledgement(other, 0);
      const std::uint64_t number = mailbox_.number(0);
      const std::uint64_t own = port.read_value(call.send, call.bytes());
      if (__builtin_expect(!mailbox_.comes_soon(port, other, 0, call.tag), 0)) return take_words(port, call);
      port.combine_pair(pair, own);
      port.signal(acknowledgement, number);
      mailbox_.next_call(1);
    }
    [[gnu::noinline]] void complete_other(Port& port, const Call& call) { (*this)(port, call); }
    [[gnu::noinline]] void take_words(Port& port, const Call& call) {
      const auto word_of = [&](int r) {
        if (r == rank_) return port.read_value(call.send, call.bytes());
        const std::uint64_t theirs = mailbox_.take(port, r, 0, call.tag);
        mailbox_.finish(port, r, 0);
        return theirs;
      };
      if (call.count != 0)
        port.write_value(call.receive, combined_words(call, ranks_, word_of), call.bytes());
      mailbox_.next_call(1);
    }
    [[gnu::noinline]] Started start_other(Port& port, const Call& call) {
      if (ranks_ == 1 || call.count == 0) return Started::no;
      if (rank_ == call.root) return Started::half;
      const bool is_word = call.bytes() <= sizeof(std::uint64_t);
      if (call.bytes() > mailbox_.bytes() || call.bytes() >= put_ || !mailbox_.opens(port, 0) ||
          (!is_word && mailbox_.direct(port, call.send, call.bytes(), call.bytes())))
        return Started::no;
      (*this)(port, call);
      return Started::whole;
    }
    [[gnu::noinline]] void pieces(Port& port, const Call& call) {
      const std::size_t size = call.op.element_bytes;
      const std::size_t most = call.elements_within(mailbox_.bytes());
      const bool is_root = rank_ == call.root;
      const Exposed room = call.bytes() >= put_ ? this->room(port, call) : Exposed{0, 0, 0};
      const bool direct = !is_root && !room && mailbox_.direct(port, call.send, call.bytes(), call.bytes());
      std::uint64_t m = 0;
      for (std::size_t at = 0; at < call.count; at += most, ++m) {
        const std::size_t count = std::min(most, call.count - at);
        if (is_root)
          combine(port, call, m, at * size, count);
        else if (room)
          put(port, call, m, room, at * size, count * size);
        else
          mailbox_.offer(port, call.root, m, call.tag, call.send + at * size, count * size, direct);
      }
      mailbox_.settle(port);
      mailbox_.next_call(m);
    }
    // Where this rank, if it is not the root, may put its operand; nothing: nowhere.
    Exposed room(Port& port, const Call& call) {
      if (rank_ == call.root) {
        const bool has = call.send != call.receive && port.reachable(call.receive, call.bytes());
        rooms_.publish(port, call.tag, Data(), 0, call.receive, has ? call.bytes() : 0);
        return Exposed{0, 0, 0};
      }
      rooms_.skip(call.tag);
      // An operand that only this rank reaches goes through cells: then this rank need not wait for the root
      // to begin.
      if (!port.reachable(call.send, call.bytes()) || !port.near(call.bytes())) return Exposed{0, 0, 0};
      return rooms_.await(port, call.root).receive;
    }
    // (1) The root publishes the handle of `receive` in every call of that size (exposure.hpp), after all
    //     that it has done with that memory. The other rank acquires it before it stores there.
    // (2) Each piece's message is a release after the piece; its handle is the place. The root acquires it,
    //     then combines the piece there; the other stores nothing there after it.
    // (3) The root returns when it has all messages. So nothing is stored to `receive` after its call, and
    //     the root's line has been read: the next handle is not early.
    void put(Port& port, const Call& call, std::uint64_t m, Exposed room, std::size_t at, std::size_t bytes) {
      room.address += at;
      port.move(port.view(room, 0), call.send + at, bytes, mailbox_.stores(port, call.root));
      mailbox_.send_stored(port, m, call.tag, room);
    }
    // The root's operand may lie where the result goes (in place). So what comes before it is combined first,
    // into rank 0's cell, which only the root reads now; then the root's operand is the first thing
    // overwritten.
    void combine(Port& port, const Call& call, std::uint64_t m, std::size_t at, std::size_t count) {
      const Data own = call.send + at;
      const Data result = call.receive + at;
      const std::size_t bytes = count * call.op.element_bytes;
      Data left;
      for (int r = 0; r < ranks_; ++r) {
        const Data operand = r == rank_ ? own : mailbox_.await(port, r, m, call.tag, bytes);
        if (r > rank_ || (r == rank_ && r != 0)) {
          port.combine(call.op, result, left, operand, count);
          left = result;
        } else if (r == 0) {
          left = operand;
        } else {
          const Data room = mailbox_.room(port, 0, m, bytes);
          port.combine(call.op, room, left, operand, count);
          left = room;
        }
      }
      for (int r = 0; r < ranks_; ++r)
        if (r != rank_) mailbox_.finish(port, r, m);
    }

    Mailbox<Port> mailbox_;
    Exposures<Port> rooms_;
    std::size_t put_;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
