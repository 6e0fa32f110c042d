#pragma once

// phicoll's allreduce for small messages: every rank publishes its operand and combines all operands in rank
// order into its own result, so all have the same bits after one exchange. Two cells a rank need no
// acknowledgements: a rank that opens step t has awaited every rank's piece of step t - 1, published after
// that rank had read all of step t - 2. Two ranks need only one each (cells.hpp, 5).

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/transport/in_rank_order.hpp"
#include "phicoll/collectives/transport/one_shot.hpp"
#include "phicoll/ports/values.hpp"

namespace phicoll {

struct OneShotAllreduce : OneShotAlgorithm<8192> {
  /// Bytes of which each of two ranks combines half at a time.
  static constexpr std::size_t put_piece = std::size_t{1} << 18;

  static AlgorithmFacts facts() {
    return {"one-shot", Origin::phicoll, "phicoll",
            "every rank publishes its operand and combines all of them in rank order"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_one_shot(visitor, p, max_element_bytes, "bytes of a piece");
  }

  static void limit(Parameters& p, const Shape& shape) {
    limit_cells(shape.size(), p.cells, p.cell, max_element_bytes);
  }
  static bool in_rank_order(const Parameters&) { return true; }

  template <class Port>
  class Rank : private OneShotRank<Port> {
    using Base = OneShotRank<Port>;
    using Base::cells_;
    using Base::order_;
    using Base::put_;
    using Base::rank_;
    using Base::ranks_;
    using Base::steps_;
    using Base::words_;

   public:
    Rank(const Parameters& p, const Setup& setup) : Base(p, setup) {
      if (ranks_ != 2) put_ = 0;
    }

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
      take_other(port, call, port.read_value(call.send, sizeof(std::uint64_t)));
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
    // Between two ranks. Whatever follows the arrival of the other's word delays the result, so it is kept
    // short.
    void take_other(Port& port, const Call& call, std::uint64_t own) {
      const WordPair pair = pair_of(call, words_.place(1 - rank_));
      if (__builtin_expect(!words_.comes_soon(port, 1 - rank_), 0)) return take_late(port, call, own);
      port.combine_pair(pair, own);
    }
    [[gnu::always_inline]] WordPair pair_of(const Call& call, const Word<std::uint64_t>& theirs) const {
      return WordPair(call.op, call.receive, call.send, call.count, rank_, theirs);
    }
    [[gnu::noinline]] void take_late(Port& port, const Call& call, std::uint64_t own) {
      port.combine_pair(pair_of(call, words_.await(port, 1 - rank_)), own);
    }
    // Calls of their own, so that an exchange of two words saves few registers.
    [[gnu::noinline]] void take_many(Port& port, const Call& call, std::uint64_t own) {
      const auto word_of = [&, own](int r) { return r == rank_ ? own : words_.take(port, r); };
      if (order_.sharing())
        for (const int r : order_) words_.take(port, r);
      port.write_value(call.receive, combined_words(call, ranks_, word_of), call.bytes());
    }

    [[gnu::noinline]] Started start_other(Port& port, const Call& call) {
      // One piece: what is left is the whole call.
      if (ranks_ == 1 || call.bytes() > cells_.bytes()) return Started::no;
      if (call.count == 0) return Started::whole;
      if (call.bytes() <= sizeof(std::uint64_t)) {
        words_.publish(port, call.send, call.bytes(), call.tag);
        return Started::half;
      }
      if (room(port, call)) return Started::no;
      publish(port, call, 0, call.bytes(), leaves(port, call), Exposed{0, 0, 0});
      return Started::half;
    }
    [[gnu::noinline]] void complete_other(Port& port, const Call& call) {
      if (call.bytes() <= sizeof(std::uint64_t))
        return take_words(port, call, port.read_value(call.send, call.bytes()));
      take_piece(port, call, 0, call.count, steps_++);
      cells_.settle(port, steps_);
    }
    [[gnu::noinline]] void pieces(Port& port, const Call& call) {
      const std::size_t most = call.elements_within(cells_.bytes());
      const Exposed room = this->room(port, call);
      const bool direct = room || leaves(port, call);
      for (std::size_t at = 0; at < call.count; at += most) {
        const std::size_t count = std::min(most, call.count - at), size = call.op.element_bytes;
        publish(port, call, at * size, count * size, direct, room);
        if (room && at == 0 && both_have_room(port, call, count * size)) {
          combine_halves(port, call, cells_.taken_room(port));
          break;
        }
        take_piece(port, call, at * size, count, steps_++);
      }
      cells_.settle(port, steps_);
    }
    /// Whether this rank's operand stays where it lies.
    bool leaves(Port& port, const Call& call) const {
      return call.send != call.receive && cells_.direct(port, call.send, call.bytes());
    }
    /// Where the other rank may put; nothing: nowhere.
    Exposed room(Port& port, const Call& call) const {
      return room_for_results(port, put_, call.bytes(), call.send, call.receive);
    }
    void publish(Port& port, const Call& call, std::size_t at, std::size_t bytes, bool direct,
                 const Exposed& room) {
      if (direct && put_ != 0) return cells_.publish_direct(port, steps_, call.tag, call.send + at, room);
      cells_.offer(port, steps_, call.tag, call.send + at, bytes, direct);
    }
    // Of two ranks each may combine half of a large message where it goes (put), if they are near, all reach
    // both ranks' operands and results, and no operand lies where its result goes. A line then crosses once
    // with an operand or a result, half of each; operands exchanged whole cross entirely, and both combine
    // everything.
    //
    // (1) The first step hands over the handle of `receive`, after all that its owner has done with that
    //     memory. Both do so, or neither finds the other's and they exchange operands: both see both handles,
    //     so they go the same way.
    bool both_have_room(Port& port, const Call& call, std::size_t bytes) {
      const unsigned taken = cells_.taken();
      cells_.await(port, 1 - rank_, steps_, call.tag, bytes);
      return cells_.taken() != taken && cells_.taken_room(port);
    }
    // (2) Each stores into the other's `receive` the part of its operand that the other combines, then
    //     publishes an empty step (release). The other awaits that (acquire) and combines the part there with
    //     its own operand.
    // (3) Each also stores its part of the result into the other's `receive`, where the other neither stores
    //     nor reads in this call. At the end it says that it is through, which the other acquires before it
    //     returns (cells.hpp, 4).

    // Rank 0 combines the first half of each piece.
    [[gnu::noinline]] void combine_halves(Port& port, const Call& call, const Exposed& to) {
      const std::size_t size = call.op.element_bytes;
      const std::size_t most = call.elements_within(std::min(cells_.bytes(), std::size_t{put_piece}));
      ++steps_;
      for (std::size_t at = 0; at < call.count; at += most) {
        const std::size_t count = std::min(most, call.count - at), half = count / 2;
        const std::size_t own = rank_ == 0 ? half : count - half;
        const std::size_t mine = (rank_ == 0 ? at : at + half) * size;
        const std::size_t theirs = (rank_ == 0 ? at + half : at) * size;
        port.move(port.view(to, theirs), call.send + theirs, (count - own) * size, Stores::handed_over);
        const std::uint64_t step = steps_++;
        cells_.open(port, step, 0);
        cells_.publish(port, step, call.tag);  // (2)
        cells_.await(port, 1 - rank_, step, call.tag, 0);
        const Data result = call.receive + mine;
        const Data operand = call.send + mine;
        if (own == 0) continue;
        port.combine(call.op, result, rank_ == 0 ? operand : result, rank_ == 0 ? result : operand, own);
        port.move(port.view(to, mine), result, own * size, Stores::handed_over);  // (3)
      }
    }
    void take_piece(Port& port, const Call& call, std::size_t at, std::size_t count, std::uint64_t step) {
      const std::size_t bytes = count * call.op.element_bytes;
      if (order_.sharing())
        for (const int r : order_) cells_.await(port, r, step, call.tag, bytes);
      // This rank's operand is read from the caller's buffer if possible: its cell's lines are on their way
      // to the peers, and the stores to them are not yet done. Of two ranks neither may read its own cell,
      // which the peer may have overwritten (cells.hpp, 5); both keep their operands.
      const bool kept = call.keeps_operand(rank_);
      const auto operand = [&, step, bytes, kept](int r) {
        return r == rank_ && kept ? call.send + at : cells_.await(port, r, step, call.tag, bytes);
      };
      combine_in_rank_order(port, call.op, ranks_, call.receive + at, count, operand);
    }
  };
};

}  // namespace phicoll
