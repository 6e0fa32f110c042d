#pragma once

// phicoll's alltoall for small blocks of one size: every rank publishes a part of all its blocks at once, and
// takes its own parts from all. Two cells a rank suffice without acknowledgements, as in the one-shot
// allreduce; two ranks need only one each (cells.hpp, 5).

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/structure/peer_order.hpp"
#include "phicoll/collectives/transport/cells.hpp"
#include "phicoll/collectives/transport/result_stores.hpp"
#include "phicoll/collectives/transport/words.hpp"

namespace phicoll {

struct OneShotAlltoall : AlgorithmDefaults {
  struct Parameters {
    int cell = 16384;
    int cells = 128;
    DirectParameters direct;
    int put = 0;
  };

  static AlgorithmFacts facts() {
    return {"one-shot", Origin::phicoll, "phicoll", "every rank publishes all its blocks and takes its own"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("cell", p.cell, 1024, 1 << 20, "bytes of a cell, for a part of each block");
    describe_cells(visitor, p.cells);
    describe_direct(visitor, p.direct);
    describe_put(visitor, p.put);
  }

  template <class Parameters>
  static const char* unfit(const Parameters&, const Shape&, const CallFacts& facts) {
    return facts.vector ? "blocks of one size" : nullptr;
  }

  static void limit(Parameters& p, const Shape& shape) { limit_cells(shape.size(), p.cells, p.cell, 1024); }

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
          ranks_(setup.size()),
          part_(lines_within(cells_.bytes() / others())) {}

    void operator()(Port& port, const Call& call) {
      if (ranks_ == 2 && call.count <= sizeof(std::uint64_t))
        word(port, call);
      else
        parts(port, call);
    }
    Started start(Port& port, const Call& call) {
      if (ranks_ != 2 || call.count > sizeof(std::uint64_t)) return start_part(port, call);
      if (call.count == 0) return Started::whole;
      publish_word(port, call);
      return Started::half;
    }
    void complete(Port& port, const Call& call) {
      if (ranks_ != 2 || call.count > sizeof(std::uint64_t)) return complete_part(port, call);
      take_word(port, call);
    }

   private:
    // Between two ranks each has one block for the other.
    void word(Port& port, const Call& call) {
      if (call.count == 0) return;
      publish_word(port, call);
      take_word(port, call);
    }
    void publish_word(Port& port, const Call& call) {
      const int other = 1 - rank_;
      words_.publish(port, call.send + call.send_block_at(other), call.count, call.tag);
      const std::uint64_t own = read_value(port, call.send + call.send_block_at(rank_), call.count);
      write_value(port, call.receive + call.block_at(rank_), own, call.count);
    }
    void take_word(Port& port, const Call& call) {
      const int other = 1 - rank_;
      const Data to = call.receive + call.block_at(other);
      const Word<std::uint64_t>& theirs = words_.place(other);
      if (__builtin_expect(!words_.comes_soon(port, other), 0)) return take_late(port, call);
      write_value(port, to, port.load_relaxed(theirs), call.count);
    }
    [[gnu::noinline]] void take_late(Port& port, const Call& call) {
      const int other = 1 - rank_;
      write_value(port, call.receive + call.block_at(other), words_.take(port, other), call.count);
    }
    // Calls of their own, so that the small case saves few registers.
    [[gnu::noinline]] Started start_part(Port& port, const Call& call) {
      if (call.count > part_) return Started::no;  // one part of each block
      if (call.count == 0) return Started::whole;
      if (is_direct(port, call) || room(port, call)) return Started::no;
      publish(port, call, 0, call.count, false, Exposed{0, 0, 0});
      return Started::half;
    }
    [[gnu::noinline]] void complete_part(Port& port, const Call& call) {
      take(port, call, 0, call.count, false);
      cells_.through(port, steps_);
      cells_.settle(port, steps_);
    }
    [[gnu::noinline]] void parts(Port& port, const Call& call) {
      const Exposed room = this->room(port, call);
      const bool direct = room || is_direct(port, call);
      for (std::size_t at = 0; at < call.count; at += part_) {
        const std::size_t bytes = std::min(part_, call.count - at);
        publish(port, call, at, bytes, direct, room);
        take(port, call, at, bytes, static_cast<bool>(room));
      }
      cells_.through(port, steps_);
      if (direct) keep_own(port, call, 0, call.count);
      cells_.settle(port, steps_);
    }
    bool is_direct(Port& port, const Call& call) const {
      return port.reachable(call.send, all(call)) && cells_.direct(port, call.send, call.count);
    }
    // As in allgather/one_shot.hpp.
    Exposed room(Port& port, const Call& call) const {
      return room_for(port, put_, call.count, call.send, all(call), call.receive, all(call));
    }
    std::size_t all(const Call& call) const { return call.count * static_cast<std::size_t>(ranks_); }
    static std::size_t lines_within(std::size_t bytes) {
      return bytes > arch::line_bytes ? bytes / arch::line_bytes * arch::line_bytes : bytes;
    }
    std::size_t others() const { return ranks_ > 1 ? static_cast<std::size_t>(ranks_ - 1) : 1; }
    // A rank's cell has a place for each other rank, in their order.
    static std::size_t place(int writer, int reader) {
      return static_cast<std::size_t>(reader < writer ? reader : reader - 1);
    }
    void fill(Port& port, const Call& call, std::size_t at, std::size_t bytes, std::uint64_t step) {
      const Data cell = cells_.open(port, step, bytes * others());
      for (int r = 0; r < ranks_; ++r)
        if (r != rank_)
          port.move(cell + place(rank_, r) * bytes, call.send + (call.send_block_at(r) + at), bytes,
                    order_.sharing() ? Stores::cached : cells_.stores(port, r));
      cells_.publish(port, step, call.tag);
    }
    // Done while the others' parts are on their way, or last (allgather/one_shot.hpp).
    void keep_own(Port& port, const Call& call, std::size_t at, std::size_t bytes) {
      port.move(call.receive + (call.block_at(rank_) + at), call.send + (call.send_block_at(rank_) + at),
                bytes, results(call.count));
    }
    // Ranks that share CPUs copy as memcpy does, also to and from far CPUs: a cell is whole before any of it
    // is taken, and the caches hold it. Faster than stores past the caches.
    Stores results(std::size_t bytes) const {
      const Stores usual = stores_.exchanged(bytes);
      return order_.sharing() && usual == Stores::taken ? Stores::cached : usual;
    }
    void publish(Port& port, const Call& call, std::size_t at, std::size_t bytes, bool direct,
                 const Exposed& room) {
      if (direct) {
        if (put_ != 0)
          cells_.publish_direct(port, steps_, call.tag, call.send + at, room);
        else
          cells_.publish_direct(port, steps_, call.tag, call.send + at);
      } else {
        fill(port, call, at, bytes, steps_);
        keep_own(port, call, at, bytes);
      }
    }
    void take(Port& port, const Call& call, std::size_t at, std::size_t bytes, bool room) {
      const std::uint64_t step = steps_++;
      const Stores stores = results(call.count);
      for (const int r : order_) {
        const unsigned taken = cells_.taken();
        const Data theirs = cells_.await(port, r, step, call.tag, bytes * others(), place(r, rank_) * bytes,
                                         call.send_block_at(rank_));
        if (room && cells_.taken() != taken) {
          if (const Exposed to = cells_.taken_room(port)) {
            port.move(port.view(to, call.block_at(rank_) + at), call.send + (call.send_block_at(r) + at),
                      bytes, handed(stores));
            continue;
          }
        }
        port.move(call.receive + (call.block_at(r) + at), theirs, bytes, stores);
      }
    }

    Words<Port> words_;
    Cells<Port> cells_;
    PeerOrder order_;
    ResultStores stores_;
    std::uint64_t steps_ = 0;
    int put_;
    int rank_;
    int ranks_;
    std::size_t part_;  // of a block, in a cell
  };
};

}  // namespace phicoll
