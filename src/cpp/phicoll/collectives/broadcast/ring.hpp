#pragma once

// phicoll's broadcast: the root writes pieces into a ring of cells that all others read; no rank waits for a
// slower one until the ring is full. Messages of at most 8 bytes go through slots of 16, four to a line: for
// a root that runs ahead, four messages share the transfer of a line.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/transport/cells.hpp"
#include "phicoll/collectives/transport/copy_ways.hpp"
#include "phicoll/collectives/transport/result_stores.hpp"
#include "phicoll/collectives/transport/rooted_copy.hpp"
#include "phicoll/collectives/transport/spread_copy.hpp"
#include "phicoll/collectives/transport/words.hpp"

namespace phicoll {

struct RingBroadcast : AlgorithmDefaults {
  /// Bytes that one side copies at a time.
  static constexpr std::size_t direct_piece = std::size_t{1} << 18;

  struct Parameters {
    int cell = 16384;
    int cells = 128;
    int slots = 1024;
    int once = 0;
    DirectParameters direct;
  };

  static AlgorithmFacts facts() {
    return {"ring", Origin::phicoll, "phicoll",
            "the root writes pieces into a ring of cells, all others read them"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("cell", p.cell, 64, 1 << 20, "bytes of a piece");
    visitor.integer("cells", p.cells, 2, 4096, "pieces that the root may be ahead of the slowest rank");
    visitor.integer("slots", p.slots, 2, 4096, "the same of messages of at most 8 bytes");
    visitor.integer("once", p.once, 0, 1,
                    "whether the kernel copies messages of 2 MB and more once, where that was faster lately");
    describe_direct(visitor, p.direct);
  }

  static std::size_t slots_bytes(const Parameters& p) {
    return arch::whole_strides(static_cast<std::size_t>(p.slots) * sizeof(NumberedWord));
  }
  static std::size_t cells_at(const Parameters& p, int ranks) {
    return slots_bytes(p) + static_cast<std::size_t>(ranks) * sizeof(Strided<CounterLine>);
  }
  static std::size_t footprint(const Parameters& p, int ranks) {
    return spread_at(p, ranks) + (p.once != 0 && ranks > 2 ? spread_copy_footprint(ranks) : 0);
  }
  static std::size_t spread_at(const Parameters& p, int ranks) {
    return copies_at(p, ranks) + (p.direct.from != 0 || p.once != 0 ? exposures_footprint(ranks) : 0);
  }
  static std::size_t copies_at(const Parameters& p, int ranks) {
    return cells_at(p, ranks) + cells_footprint(p, ranks);
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) { return footprint(p, shape.size()); }
  static std::size_t cells_footprint(const Parameters& p, int ranks) {
    return phicoll::cells_footprint(ranks, 1, p.cells, static_cast<std::size_t>(p.cell));
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : slots_(setup.at<NumberedWord>(0)),
          finished_(setup.at<Strided<CounterLine>>(slots_bytes(p))),
          turns_(p.slots),
          half_(p.slots / 2),
          rank_(setup.rank),
          ranks_(setup.size()),
          hint_(setup.hint()),
          cells_(setup, cells_at(p, setup.size()), 1, p.cells, static_cast<std::size_t>(p.cell),
                 Credit::acknowledged, p.direct),
          stores_(setup.shape),
          ring_bytes_(static_cast<std::size_t>(p.cells) * static_cast<std::size_t>(p.cell)),
          once_(p.once != 0),
          together_(p.once != 0 || p.direct.from != 0),
          copy_(setup, copies_at(p, setup.size()), direct_piece, false),
          spread_(setup, spread_at(p, setup.size()), direct_piece) {}

    void operator()(Port& port, const Call& call) {
      if (call.count == 0 || ranks_ == 1) return;
      if (call.count <= sizeof(std::uint64_t))
        small(port, call);
      else
        pieces(port, call);
    }
    /// The root does not wait if there is room; the others wait first of all.
    Started start(Port& port, const Call& call) {
      if (call.count != sizeof(std::uint64_t) || ranks_ == 1) return start_other(port, call);
      if (rank_ != call.root) {
        // If the message has come, it is on its way while the call is noted.
        port.prefetch(&slots_[turns_.cell(messages_)]);
        return Started::half;
      }
      if (__builtin_expect(messages_ >= free_until_, 0)) return start_other(port, call);
      give_small(port, call, sizeof(std::uint64_t));
      return Started::whole;
    }
    void complete(Port& port, const Call& call) {
      if (call.count == sizeof(std::uint64_t)) return take_small(port, call);
      (*this)(port, call);
    }

    /// The root's part of a call of more than 8 bytes and at most a cell, whose message stays where it lies
    /// for the others to copy: not before `settle` may the root overwrite it. Only with direct=0 and once=0.
    void leave(Port& port, const Call& call) {
      const std::uint64_t step = steps_++;
      cells_.publish_direct(port, step, call.tag, call.receive);
      cells_.finish(port, step);
    }
    /// Comes on all ranks after some calls, if the root may have left messages where they lie.
    void settle(Port& port) { cells_.settle(port, steps_); }

   private:
    // Calls of their own, so that the small case saves few registers.
    [[gnu::noinline]] Started start_other(Port& port, const Call& call) {
      if (ranks_ == 1) return Started::no;
      if (rank_ != call.root && call.count != 0) return Started::half;
      if (call.count > sizeof(std::uint64_t)) {
        if (call.count > cells_.bytes() || !cells_.opens(port, steps_)) return Started::no;
        if (cells_.direct(port, call.receive, call.count)) return Started::no;
      } else if (messages_ >= free_until_ && messages_ >= turns_.cells()) {
        return Started::no;
      }
      (*this)(port, call);
      return Started::whole;
    }
    // A slot is one message: its value, then, with release and in the same line, the message's number plus
    // one and the call's tag. It is written again `slots` messages later, when the writer has acquired from
    // all ranks that they are past it; they release that every slots/2 messages.
    //
    // What a root seldom does comes in a last call, so that the function saves no registers: its stores for
    // several messages should fit into a processor's queue together while the line of the first is on its
    // way.
    void small(Port& port, const Call& call) {
      if (rank_ != call.root) return take_small(port, call);
      if (__builtin_expect(messages_ >= free_until_, 0)) return give_when_free(port, call);
      if (__builtin_expect(call.count == sizeof(std::uint64_t), 1))
        give_small(port, call, sizeof(std::uint64_t));
      else
        give_short(port, call);
    }
    [[gnu::always_inline]] void give_small(Port& port, const Call& call, std::size_t bytes) {
      const std::uint64_t message = messages_++;
      NumberedWord& slot = slots_[turns_.cell(message)];
      port.store_relaxed(slot.value, port.read_value(call.receive, bytes));
      const std::uint64_t number = ((message + 1) << 16) | call.tag;
      if (__builtin_expect(half_.cell(message + 1) == 0, 0)) return give_last(port, slot, number);
      port.signal(slot.sequence, number);
    }
    [[gnu::noinline]] void give_short(Port& port, const Call& call) { give_small(port, call, call.count); }
    [[gnu::noinline]] void give_when_free(Port& port, const Call& call) {
      wait_for_slots(port, messages_);
      give_small(port, call, call.count);
    }
    /// The last message of half a ring.
    [[gnu::noinline]] void give_last(Port& port, NumberedWord& slot, std::uint64_t number) {
      port.signal(slot.sequence, number);
      port.signal(finished_[rank_].value.word, messages_);
    }
    [[gnu::noinline]] void take_small(Port& port, const Call& call) {
      const NumberedWord& slot = slots_[turns_.cell(messages_)];
      if (__builtin_expect(!port.comes_soon(slot.sequence, awaited(call), hint_(call.root)), 0))
        return take_late(port, call, slot);
      take_out(port, call, slot);
    }
    [[gnu::noinline]] void take_late(Port& port, const Call& call, const NumberedWord& slot) {
      port.wait(slot.sequence, awaited(call), hint_(call.root));
      take_out(port, call, slot);
    }
    Condition<std::uint64_t> awaited(const Call& call) const {
      return equal(((messages_ + 1) << 16) | call.tag);
    }
    void take_out(Port& port, const Call& call, const NumberedWord& slot) {
      ++messages_;
      port.write_value(call.receive, port.load_relaxed(slot.value), call.count);
      if (__builtin_expect(half_.cell(messages_) == 0, 0)) tell_half(port);
    }
    [[gnu::noinline]] void tell_half(Port& port) { port.signal(finished_[rank_].value.word, messages_); }

    void wait_for_slots(Port& port, std::uint64_t message) {
      const std::uint64_t slots = turns_.cells();
      std::uint64_t least = slots;
      if (message >= slots) {
        least = UINT64_MAX;
        for (int r = 0; r < ranks_; ++r)
          if (r != rank_)
            least = std::min(
                least, port.wait(finished_[r].value.word, at_least(message - slots + 1), hint_(r)) + slots);
      }
      free_until_ = least;
    }

    [[gnu::noinline]] void pieces(Port& port, const Call& call) {
      if (rank_ == call.root) {
        if (cells_.direct(port, call.receive, call.count)) {
          give(port, call);
          return;
        }
        if (once_ && call.count >= CopyWays::least_bytes && port.exposable(call.receive, call.count))
          return give_faster(port, call);
      }
      pass(port, call, 0, call.count);
    }
    // A message that stays in place (direct.hpp) is announced in one cell and copied from both sides at once
    // (rooted_copy.hpp); then all ranks are in the call together. With once=1 the root also leaves a large
    // message in place if only the kernel can copy it and that was faster lately by the root's timing
    // (copy_ways.hpp). With more than two ranks, only the others copy such a message, partly from each other,
    // so the root can return early (spread_copy.hpp).
    void give_faster(Port& port, const Call& call) {
      const bool once = ways_.copy_once(call.count);
      std::int64_t begun = port.now();
      double part = 1;
      if (once) {
        // The average over all ranks counts; the others take about twice as long as the root.
        if (give(port, call)) part = ranks_ / (2.0 * ranks_ - 1);
      } else {
        // The first bytes may only have filled the ring; the others went at the pace of the slowest rank.
        const std::size_t ahead = call.count > ring_bytes_ ? ring_bytes_ : 0;
        pass(port, call, 0, ahead);
        if (ahead != 0) begun = port.now();
        pass(port, call, ahead, call.count);
        part = static_cast<double>(call.count - ahead) / static_cast<double>(call.count);
      }
      ways_.took(once, call.count, static_cast<std::int64_t>(static_cast<double>(port.now() - begun) / part));
    }
    // The pieces from byte `from`, at the beginning of a piece, to byte `end`.
    void pass(Port& port, const Call& call, std::size_t from, std::size_t end) {
      for (std::size_t at = from; at < end; at += cells_.bytes()) {
        const std::uint64_t step = steps_++;
        const std::size_t bytes = std::min(cells_.bytes(), call.count - at);
        if (rank_ == call.root) {
          cells_.offer(port, step, call.tag, call.receive + at, bytes, false);
        } else {
          const Data piece = cells_.await(port, call.root, step, call.tag, bytes);
          if (together_ && at == 0 && cells_.taken()) return take(port, call, step);
          port.move(call.receive + at, piece, bytes, stores_.received(call.count));
        }
        cells_.finish(port, step);
      }
    }
    /// Returns whether the others copied the message from each other too.
    bool give(Port& port, const Call& call) {
      const std::uint64_t step = steps_++;
      const bool spread = spreads(port.expose(call.receive));
      if (spread) spread_.begin_root(port);
      cells_.publish_direct(port, step, call.tag, call.receive);
      if (spread) {
        spread_.end_root(port, call.count);
        cells_.take_back();
      } else {
        copy_.begin_root(port, call.tag, call.receive, call.count);
        for (const int r : copy_.others()) copy_.serve(port, r, call.receive, 0, call.count);
        copy_.end_root(port);
      }
      cells_.finish(port, step);
      cells_.settle(port, steps_);
      return spread;
    }
    void take(Port& port, const Call& call, std::uint64_t step) {
      if (spreads(cells_.taken_piece()))
        spread_.take(port, call.tag, call.root, cells_.taken_piece(), call.receive, call.count);
      else
        copy_.exchange(port, call.tag, call.root, call.receive, 0, call.count);
      cells_.finish(port, step);
      cells_.settle(port, steps_);
    }
    // As all ranks see alike.
    bool spreads(const Exposed& message) const { return once_ && ranks_ > 2 && !Port::direct(message); }

    // Members that a small message touches, side by side.
    NumberedWord* slots_;
    Strided<CounterLine>* finished_;
    Turns turns_;
    Turns half_;
    std::uint64_t messages_ = 0;
    std::uint64_t free_until_ = 0;
    int rank_;
    int ranks_;
    Hint hint_;

    Cells<Port> cells_;
    ResultStores stores_;
    std::size_t ring_bytes_;
    bool once_;
    bool together_;  // whether the root, too, copies a message that stays where it lies
    CopyWays ways_;
    RootedCopy<Port> copy_;
    SpreadCopy<Port> spread_;
    std::uint64_t steps_ = 0;
  };
};

}  // namespace phicoll
