#pragma once

// phicoll's allreduce for small messages: every rank publishes its operand and combines all operands in rank order into its
// own result, so all have the same bits after one exchange. Two cells a rank need no acknowledgements: a rank that opens
// step t has awaited every rank's piece of step t - 1, which that rank published after it had read all of step t - 2. Two
// ranks need only one each (cells.hpp, 5).

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/structure/peer_order.hpp"
#include "phicoll/collectives/transport/cells.hpp"
#include "phicoll/collectives/transport/words.hpp"

namespace phicoll {

struct OneShotAllreduce : AlgorithmDefaults {
  struct Parameters {
    int cell = 8192;
    int cells = 128;
    DirectParameters direct;
  };

  static AlgorithmFacts facts() {
    return {"one-shot", Origin::phicoll, "phicoll",
            "every rank publishes its operand and combines all of them in rank order"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("cell", p.cell, max_element_bytes, 1 << 20, "bytes of a piece");
    describe_cells(visitor, p.cells);
    describe_direct(visitor, p.direct);
  }

  static void limit(Parameters& p, const Shape& shape) {
    limit_cells(shape.size(), p.cells, p.cell, max_element_bytes);
  }

  static std::size_t footprint(const Parameters& p, int ranks) {
    return words_footprint(ranks) + cells_footprint(ranks, ranks, p.cells, static_cast<std::size_t>(p.cell));
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) { return footprint(p, shape.size()); }

  static const void* first_line(const Setup& setup) { return words_line(setup); }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : words_(setup, 0),
          cells_(setup, words_footprint(setup.size()), setup.size(), p.cells,
                 static_cast<std::size_t>(p.cell), Credit::implied, p.direct),
          order_(setup),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      if (ranks_ == 1 && call.send != call.receive) port.move(call.receive, call.send, call.bytes());
      if (ranks_ == 1) return;
      if (call.bytes() <= sizeof(std::uint64_t))
        word(port, call);
      else
        pieces(port, call);
    }
    Started start(Port& port, const Call& call) {
      if (call.bytes() != sizeof(std::uint64_t) || ranks_ == 1) return start_other(port, call);
      words_.publish(port, call.send, sizeof(std::uint64_t), call.tag);
      return Started::half;
    }
    void complete(Port& port, const Call& call) {
      if (call.bytes() != sizeof(std::uint64_t) || ranks_ != 2) return complete_other(port, call);
      take_other(port, call, read_value(port, call.send, sizeof(std::uint64_t)));
    }

   private:
    void word(Port& port, const Call& call) {
      if (call.count == 0) return;
      take_words(port, call, words_.publish(port, call.send, call.bytes(), call.tag));
    }
    void take_words(Port& port, const Call& call, std::uint64_t own) {
      if (ranks_ != 2) return take_many(port, call, own);
      take_other(port, call, own);
    }
    // Between two ranks. Whatever follows the arrival of the other's word delays the result, so it is kept short.
    void take_other(Port& port, const Call& call, std::uint64_t own) {
      const WordPair pair(call, rank_, words_.place(1 - rank_));
      if (__builtin_expect(!words_.comes_soon(port, 1 - rank_), 0)) return take_late(port, call, own);
      combine_pair(port, pair, own);
    }
    [[gnu::noinline]] void take_late(Port& port, const Call& call, std::uint64_t own) {
      combine_pair(port, WordPair(call, rank_, words_.await(port, 1 - rank_)), own);
    }
    // Calls of their own, so that an exchange of two words saves few registers.
    [[gnu::noinline]] void take_many(Port& port, const Call& call, std::uint64_t own) {
      const auto word_of = [&, own](int r) { return r == rank_ ? own : words_.take(port, r); };
      if (order_.sharing())
        for (const int r : order_) words_.take(port, r);
      write_value(port, call.receive, combined_words(call, ranks_, word_of), call.bytes());
    }

    [[gnu::noinline]] Started start_other(Port& port, const Call& call) {
      // One piece: what is left is the whole call.
      if (ranks_ == 1 || call.bytes() > cells_.bytes()) return Started::no;
      if (call.count == 0) return Started::whole;
      if (call.bytes() <= sizeof(std::uint64_t)) {
        words_.publish(port, call.send, call.bytes(), call.tag);
        return Started::half;
      }
      const bool direct = call.send != call.receive && cells_.direct(port, call.send, call.bytes());
      cells_.offer(port, steps_, call.tag, call.send, call.bytes(), direct);
      return Started::half;
    }
    [[gnu::noinline]] void complete_other(Port& port, const Call& call) {
      if (call.bytes() <= sizeof(std::uint64_t))
        return take_words(port, call, read_value(port, call.send, call.bytes()));
      take_piece(port, call, 0, call.count, steps_++);
      cells_.settle(port, steps_);
    }
    [[gnu::noinline]] void pieces(Port& port, const Call& call) {
      const std::size_t most = call.elements_within(cells_.bytes());
      const bool direct = call.send != call.receive && cells_.direct(port, call.send, call.bytes());
      for (std::size_t at = 0; at < call.count; at += most)
        piece(port, call, at * call.op.element_bytes, std::min(most, call.count - at), direct);
      cells_.settle(port, steps_);
    }
    void piece(Port& port, const Call& call, std::size_t at, std::size_t count, bool direct) {
      const std::uint64_t step = steps_++;
      cells_.offer(port, step, call.tag, call.send + at, count * call.op.element_bytes, direct);
      take_piece(port, call, at, count, step);
    }
    void take_piece(Port& port, const Call& call, std::size_t at, std::size_t count, std::uint64_t step) {
      const std::size_t bytes = count * call.op.element_bytes;
      if (order_.sharing())
        for (const int r : order_) cells_.await(port, r, step, call.tag, bytes);
      // This rank's operand is read from the caller's buffer if possible: its cell's lines are on their way to the
      // peers, and the stores to them are not yet done. Of two ranks neither may read its own cell, which the peer may have
      // overwritten (cells.hpp, 5); both keep their operands.
      const bool kept = call.keeps_operand(rank_);
      const auto operand = [&, step, bytes, kept](int r) {
        return r == rank_ && kept ? call.send + at : cells_.await(port, r, step, call.tag, bytes);
      };
      const Data result = call.receive + at;
      Data left = operand(0);
      for (int r = 1; r < ranks_; ++r) {
        port.combine(call.op, result, left, operand(r), count);
        left = result;
      }
    }

    Words<Port> words_;
    Cells<Port> cells_;
    PeerOrder order_;
    std::uint64_t steps_ = 0;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
