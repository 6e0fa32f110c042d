#pragma once

// phicoll's allreduce for middle and large messages, in chunks that stay in the caches: every rank publishes its operand,
// combines one slice of all operands in rank order, and publishes its slice's result for all to take. A rank's own slice is
// never copied in, and each chunk's operands are published before the chunk ahead of it is finished.
//
// A chunk takes two steps of Cells, for its operands and its results, in a ring of four or more without acknowledgements.
// With four:
//
//  1. Step 2i (operands of chunk i) uses the cell of step 2i - 4, the operands of chunk i - 2. A rank opens it after it has
//     taken everyone's results of chunk i - 2, which each published after it had read those operands.
//  2. Step 2i + 1 uses the cell of the results of chunk i - 2. A rank opens it after it has seen everyone's operands of
//     chunk i, which each published after it had taken all results of chunk i - 2.
//
// A result may stay in `receive`, for the others to take it there. After it this rank writes only other slices of that
// chunk and other chunks, and an operand that lay in its place was published in a cell.

#include <cstdint>

#include "phicoll/collectives/transport/slices.hpp"

namespace phicoll {

struct SlicedAllreduce : SlicedAlgorithm {
  static AlgorithmFacts facts() {
    return {"sliced", Origin::phicoll, "phicoll",
            "each rank combines one slice of all operands, all take all slices; in chunks"};
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : slices_(p, setup, Credit::implied), rank_(setup.rank), ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      if (ranks_ == 1) {
        if (call.send != call.receive) port.move(call.receive, call.send, call.bytes());
        return;
      }
      slices_.each_chunk(port, call, [&](const SliceChunk& chunk) {
        combine(port, call, chunk);
        slices_.take(port, call, chunk);
      });
    }

   private:
    void combine(Port& port, const Call& call, const SliceChunk& chunk) {
      // Not before all operands of the chunk have been seen (see above).
      const Data cell = slices_.open_result(port, call, chunk);
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
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
