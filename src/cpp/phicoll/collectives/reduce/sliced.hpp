#pragma once

// phicoll's reduce for middle and large messages among ranks with CPUs of their own, in chunks that stay in
// the caches: every rank publishes its operand and combines one slice of all, the root straight into its
// receive buffer; the others publish their results for the root to take. Operands are combined in rank order,
// whatever the root: the same bits in every run.
//
// (1) Operands of chunk i are step 2i of Cells, results step 2i + 1, published with release and awaited with
//     acquire.

#include <cstdint>

#include "phicoll/collectives/transport/slices.hpp"

namespace phicoll {

struct SlicedReduce : SlicedAlgorithm {
  static AlgorithmFacts facts() {
    return {"sliced", Origin::phicoll, "phicoll",
            "each rank combines one slice of all operands, the root takes all slices; in chunks"};
  }

  // No ranks wait in a circle, with at least four cells. A rank is in chunk i from opening step 2i + 2,
  // before it combines chunk i, to finishing step 2i + 1. Acknowledgements come every cells/2 steps; to open
  // step t, one of some step up to t - 1 - (cells - cells/2), at most t - 3, is enough.
  //
  // (5) To open step 2i + 2, ahead of chunk i, a rank waits until all have finished some step up to 2i - 1.
  // (6) to (8) The waits within chunk i stand below.

  // (9) Take a rank in the lowest chunk i that any is in. All others have finished chunk i - 1 and published
  //     what they have of chunk i, so (5) to (7) do not hold it up; the root waits only for other ranks in
  //     chunk i, which nothing holds up.
  // (10) A call's first chunk is published when all before it are finished here: it waits for less.

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : slices_(p, setup, Credit::acknowledged), rank_(setup.rank), ranks_(setup.size()) {}

    // No cell is written while it is read:
    //
    // (2) Only the root, which may change in the next call, reads results; what a rank awaits does not tell
    //     it how far others are. So cells are acknowledged.
    // (3) A rank finishes step 2i after combining its slice of chunk i, and step 2i + 1 after taking all
    //     results (not the root: at once). Its loads precede that store (release); who reopens the cell
    //     awaits it from all others (acquire).
    // (4) The root never publishes its result's cell: in place, it holds what comes before the root's
    //     operand.
    void operator()(Port& port, const Call& call) {
      if (ranks_ == 1) {
        if (call.send != call.receive) port.move(call.receive, call.send, call.bytes());
        return;
      }
      const bool is_root = rank_ == call.root;
      slices_.each_chunk(port, call, [&, is_root](const SliceChunk& chunk) {
        // (7) Waits until all have finished some step up to 2i - 2.
        const Data cell = slices_.open_result(port, call, chunk);
        const Data to = is_root ? slices_.in(call.receive, call, chunk) : cell;
        // (6) Waits for all operands of chunk i, published in chunk i - 1 or at a call's begin.
        slices_.combine(port, call, chunk, to, is_root && call.keeps_operand(rank_) ? to : cell);
        if (!is_root) slices_.publish_result(port, call, chunk);
        slices_.finish(port, chunk.step);
        // (8) Waits for all results of chunk i, published in chunk i.
        if (is_root) slices_.take(port, call, chunk);
        slices_.finish(port, chunk.step + 1);
      });
    }

   private:
    Slices<Port> slices_;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
