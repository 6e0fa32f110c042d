#pragma once

// phicoll's allgather, regular and vector: every rank publishes its block in pieces and takes everyone's. Two
// cells a rank suffice without acknowledgements, as in the one-shot allreduce: in every step each rank awaits
// a piece of every other, an empty one where a block has ended. Two ranks need only one each (cells.hpp, 5).

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/structure/peer_order.hpp"
#include "phicoll/collectives/transport/cells.hpp"
#include "phicoll/collectives/transport/result_stores.hpp"
#include "phicoll/collectives/transport/words.hpp"

namespace phicoll {

struct OneShotAllgather : AlgorithmDefaults {
  struct Parameters {
    int cell = 16384;
    int cells = 128;
    DirectParameters direct;
    int put = 0;
  };

  static AlgorithmFacts facts() {
    return {"one-shot", Origin::phicoll, "phicoll", "every rank publishes its block and takes everyone's"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("cell", p.cell, 64, 1 << 20, "bytes of a piece");
    describe_cells(visitor, p.cells);
    describe_direct(visitor, p.direct);
    describe_put(visitor, p.put);
  }

  static void limit(Parameters& p, const Shape& shape) { limit_cells(shape.size(), p.cells, p.cell, 256); }

  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return words_footprint(shape.size()) +
           cells_footprint(shape.size(), shape.size(), p.cells, static_cast<std::size_t>(p.cell));
  }

  static const void* first_line(const Setup& setup) { return words_line(setup); }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : words_(setup, 0),
          cells_(setup, words_footprint(setup.size()), setup.size(), p.cells,
                 static_cast<std::size_t>(p.cell), Credit::implied, p.direct),
          order_(setup),
          stores_(setup.shape),
          put_(p.put),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      std::size_t most = call.count;
      if (__builtin_expect(call.vector, 0))
        for (int r = 0; r < ranks_; ++r) most = std::max(most, call.block_count(r));
      if (most <= sizeof(std::uint64_t))
        words(port, call, most);
      else
        pieces(port, call, most);
    }
    Started start(Port& port, const Call& call) {
      if (call.vector) return Started::no;
      if (call.count > sizeof(std::uint64_t)) return start_piece(port, call);
      if (call.count == 0) return Started::whole;
      publish_word(port, call);
      return Started::half;
    }
    void complete(Port& port, const Call& call) {
      if (call.count > sizeof(std::uint64_t)) return complete_piece(port, call);
      take_words(port, call);
    }

   private:
    void words(Port& port, const Call& call, std::size_t most) {
      if (most == 0) return;
      publish_word(port, call);
      take_words(port, call);
    }
    void publish_word(Port& port, const Call& call) {
      const std::uint64_t own = words_.publish(port, call.send, call.count, call.tag);
      write_value(port, call.receive + call.block_at(rank_), own, call.count);
    }
    // With two ranks, do every lookup before the peer's word arrives.
    void take_words(Port& port, const Call& call) {
      if (ranks_ != 2) return take_all(port, call);
      const int other = 1 - rank_;
      const Data to = call.receive + call.block_at(other);
      const std::size_t bytes = call.block_count(other);
      const Word<std::uint64_t>& theirs = words_.place(other);
      if (__builtin_expect(!words_.comes_soon(port, other), 0)) return take_all(port, call);
      write_value(port, to, port.load_relaxed(theirs), bytes);
    }
    [[gnu::noinline]] void take_all(Port& port, const Call& call) {
      for (const int r : order_) {
        const std::uint64_t theirs = words_.take(port, r);
        write_value(port, call.receive + call.block_at(r), theirs, call.block_count(r));
      }
    }
    // Calls of their own, so that the small case saves few registers.
    [[gnu::noinline]] Started start_piece(Port& port, const Call& call) {
      if (call.count > cells_.bytes()) return Started::no;  // one piece of each
      const bool direct = cells_.direct(port, call.send, call.count);
      if (put_ != 0 ? direct || room(port, call) : direct && call.receive + call.block_at(rank_) != call.send)
        return Started::no;
      publish(port, call, 0, stores_.exchanged(call.count), direct, Exposed{0, 0, 0});
      return Started::half;
    }
    [[gnu::noinline]] void complete_piece(Port& port, const Call& call) {
      take(port, call, 0, stores_.exchanged(call.count), false);
      cells_.through(port, steps_);
      cells_.settle(port, steps_);
    }
    [[gnu::noinline]] void pieces(Port& port, const Call& call, std::size_t most) {
      const Exposed room = this->room(port, call);
      const bool direct = room || cells_.direct(port, call.send, call.count);
      const Stores stores = stores_.exchanged(most);
      for (std::size_t at = 0; at < most; at += cells_.bytes()) {
        publish(port, call, at, stores, direct, room);
        take(port, call, at, stores, static_cast<bool>(room));
      }
      cells_.through(port, steps_);
      if (direct) keep_own(port, call, 0, call.count, stores);
      cells_.settle(port, steps_);
    }
    // Of two ranks that have room for each other's pieces, each puts its own into the other's `receive`. Then
    // nobody reads the sender's lines, so it need not take them back when it writes to them again. The writer
    // of such a piece has stored it before it says that it is through, which its reader acquires before it
    // returns; it has acquired the reader's handle, which that rank stored after it was done with what
    // `receive` held before.
    Exposed room(Port& port, const Call& call) const {
      if (call.vector) return Exposed{0, 0, 0};
      return room_for(port, put_, call.count, call.send, call.count, call.receive,
                      call.count * static_cast<std::size_t>(ranks_));
    }
    std::size_t piece(const Call& call, int r, std::size_t at) const {
      return at >= call.block_count(r) ? 0 : std::min(cells_.bytes(), call.block_count(r) - at);
    }
    // Done while the others' pieces are on their way. If peers read this rank's pieces in place, it comes
    // last: the copy would take lines out of the cache that they are read from.
    void keep_own(Port& port, const Call& call, std::size_t at, std::size_t bytes, Stores stores) {
      const Data own = call.receive + call.block_at(rank_);
      if (bytes != 0 && own != call.send) port.move(own + at, call.send + at, bytes, stores);
    }
    void publish(Port& port, const Call& call, std::size_t at, Stores stores, bool direct,
                 const Exposed& room) {
      const std::uint64_t step = steps_;
      const std::size_t own = piece(call, rank_, at);
      if (own != 0 && direct && put_ != 0) {
        cells_.publish_direct(port, step, call.tag, call.send + at, room);
      } else if (own != 0) {
        cells_.offer(port, step, call.tag, call.send + at, own, direct);
      } else {
        cells_.open(port, step, own);
        cells_.publish(port, step, call.tag);
      }
      if (!direct) keep_own(port, call, at, own, stores);
    }
    void take(Port& port, const Call& call, std::size_t at, Stores stores, bool room) {
      const std::uint64_t step = steps_++;
      for (const int r : order_) {
        const std::size_t bytes = piece(call, r, at);
        const unsigned taken = cells_.taken();
        const Data theirs = cells_.await(port, r, step, call.tag, bytes);
        if (room && cells_.taken() != taken) {
          if (const Exposed to = cells_.taken_room(port)) {
            port.move(port.view(to, call.block_at(rank_) + at), call.send + at, bytes, handed(stores));
            continue;
          }
        }
        if (bytes != 0) port.move(call.receive + (call.block_at(r) + at), theirs, bytes, stores);
      }
    }

    Words<Port> words_;
    Cells<Port> cells_;
    PeerOrder order_;
    ResultStores stores_;
    int put_;
    std::uint64_t steps_ = 0;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
