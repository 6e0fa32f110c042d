#pragma once

// phicoll's allreduce for middle and large messages, in chunks that stay in the caches: every rank publishes
// its operand, combines one slice of all operands in rank order, and publishes its slice's result for all to
// take. A rank's own slice is never copied in, and each chunk's operands are published before the chunk ahead
// of it is finished.
//
// A result may stay in `receive`, for the others to take it there. After it this rank writes only other
// slices of that chunk and other chunks, and an operand that lay in its place was published in a cell.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "phicoll/collectives/allreduce/one_shot.hpp"
#include "phicoll/collectives/transport/copy_ways.hpp"
#include "phicoll/collectives/transport/slices.hpp"

namespace phicoll {

// Two ranks may also exchange whole operands through cells and combine everything each (one_shot.hpp). Which
// way is faster depends on where the other's data lies and how far its CPU is
// (docs/bench/behind-the-code.md), which no rank knows alone; so two ranks may try both ways and take the one
// that was faster lately. Each says at a call's begin whether it wishes to exchange whole; they do if both
// wish it. Both ways combine in rank order, so they give the same bits.
struct SlicedAllreduce : SlicedAlgorithm {
  struct Parameters : SliceParameters {
    int whole = 0;
  };

  static AlgorithmFacts facts() {
    return {"sliced", Origin::phicoll, "phicoll",
            "each rank combines one slice of all operands, all take all slices; in chunks"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    SlicedAlgorithm::describe(visitor, p);
    describe_put(visitor, p.put);
    visitor.integer(
        "whole", p.whole, 0, 1 << 20,
        "bytes of each of two ranks' cells; messages of two cells (at least 1 KB) and more are exchanged "
        "whole where that was faster lately; 0: never");
  }
  static void limit(Parameters& p, const Shape& shape) {
    SlicedAlgorithm::limit(p, shape);
    // A cell holds an element of any size.
    if (shape.size() != 2 || p.whole < static_cast<int>(max_element_bytes)) p.whole = 0;
  }
  /// The slices' memory, then the wishes, then the cells.
  static std::size_t wishes_at(const Parameters& p, const Shape& shape) {
    return SlicedAlgorithm::footprint(p, shape);
  }
  static std::size_t cells_at(const Parameters& p, const Shape& shape) {
    return wishes_at(p, shape) + static_cast<std::size_t>(shape.size()) * sizeof(Strided<CounterLine>);
  }
  static OneShotAllreduce::Parameters exchange(const Parameters& p) {
    OneShotAllreduce::Parameters exchange;
    exchange.cell = p.whole;
    exchange.cells = 1;
    return exchange;
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    if (p.whole == 0) return SlicedAlgorithm::footprint(p, shape);
    return cells_at(p, shape) + OneShotAllreduce::footprint(exchange(p), shape);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : slices_(p, setup, Credit::implied), rank_(setup.rank), ranks_(setup.size()), hint_(setup.hint()) {
      if (p.whole == 0) return;
      from_ = std::max<std::size_t>(1024, 2 * static_cast<std::size_t>(p.whole));
      wishes_ = setup.at<Strided<CounterLine>>(wishes_at(p, setup.shape));
      whole_.reset(new OneShotAllreduce::Rank<Port>(
          exchange(p),
          Setup{setup.rank, setup.shape, setup.memory + cells_at(p, setup.shape), setup.members}));
    }

    void operator()(Port& port, const Call& call) {
      if (ranks_ == 1) {
        if (call.send != call.receive) port.move(call.receive, call.send, call.bytes());
        return;
      }
      if (whole_ != nullptr && call.bytes() >= from_) return by_faster_way(port, call);
      by_slices(port, call);
    }

   private:
    void by_faster_way(Port& port, const Call& call) {
      const bool whole = both_wish(port, ways_.copy_once(call.bytes()));
      // From here on, so that the time does not include how late the other is.
      const std::int64_t begun = port.now();
      if (whole)
        (*whole_)(port, call);
      else
        by_slices(port, call);
      ways_.took(whole, call.bytes(), port.now() - begun);
    }
    // (3) A rank stores 2n + wish (release) at the begin of its nth such call, and waits for 2n or more from
    //     the other (acquire). It sees the wish of that call and no later one: either way, the other ends the
    //     call only with what this rank publishes after it has seen the wish. So both take the same way, and
    //     count the steps of each way alike.
    bool both_wish(Port& port, bool wish) {
      calls_ += 2;
      port.signal(wishes_[rank_].value.word, calls_ + std::uint64_t{wish});  // (3)
      const int other = 1 - rank_;
      const std::uint64_t theirs = port.wait(wishes_[other].value.word, at_least(calls_), hint_(other));
      return wish && (theirs & 1) != 0;
    }
    // A chunk takes two steps of Cells, operands and results, in a ring of at least four without
    // acknowledgements. With four:
    //
    // (1) Step 2i (operands of chunk i) uses the cell of the operands of chunk i - 2. A rank opens it after
    //     taking everyone's results of chunk i - 2, each published after reading those operands.
    // (2) Step 2i + 1 uses the cell of the results of chunk i - 2. A rank opens it after seeing everyone's
    //     operands of chunk i, each published after taking all results of chunk i - 2.
    void by_slices(Port& port, const Call& call) {
      slices_.each_chunk(port, call, [&](const SliceChunk& chunk) {
        // (2): not before all operands of the chunk have been seen.
        const Data cell = slices_.open_result(port, call, chunk);
        if (const Exposed to = slices_.others_room()) return combine_into_both(port, call, chunk, to);
        combine(port, call, chunk, cell);
        slices_.take(port, call, chunk);
      });
    }
    // Each of two ranks stores its slice's result into the other's `receive`, too (put), if they are near,
    // all reach both ranks' operands and results, and no operand lies where its result goes.
    //
    // (4) The handle of `receive` comes with each chunk's operands, so its owner is done with what was there.
    //     Both see both handles, so both do so.
    // (5) The other stores its slice there, which the owner does not touch, then publishes the step of its
    //     results (release), which the owner awaits (acquire).
    void combine_into_both(Port& port, const Call& call, const SliceChunk& chunk, const Exposed& to) {
      const Data result = slices_.in(call.receive, call, chunk);
      slices_.combine(port, call, chunk, result, result);
      slices_.put_result(port, call, chunk, to);  // (5)
      slices_.await_result(port, call, chunk);    // (5)
    }
    void combine(Port& port, const Call& call, const SliceChunk& chunk, Data cell) {
      const Data result = slices_.in(call.receive, call, chunk);
      const bool kept = call.keeps_operand(rank_);
      const Data to = kept ? result : cell;
      slices_.combine(port, call, chunk, to, to);
      if (kept) return slices_.publish_received(port, call, chunk, cell);
      slices_.publish_result(port, call, chunk);
      const std::size_t bytes = slices_.bytes(call, chunk);
      if (bytes != 0) port.move(result, cell, bytes);
    }

    Slices<Port> slices_;
    std::unique_ptr<OneShotAllreduce::Rank<Port>> whole_;  // null: slices always
    Strided<CounterLine>* wishes_ = nullptr;               // by each rank
    std::uint64_t calls_ = 0;                              // in which they wished, times two
    CopyWays ways_;
    std::size_t from_ = 0;  // bytes
    int rank_;
    int ranks_;
    Hint hint_;
  };
};

}  // namespace phicoll
