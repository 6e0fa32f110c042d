#pragma once

// phicoll's reduce for middle and large messages among ranks with CPUs of their own, in chunks that stay in
// the caches: every rank publishes its operand and combines one slice of all operands, the root straight into
// its receive buffer, and the others publish their results for the root to take. The order of operands is the
// ranks', whatever the root: the same bits in every run and for every root.
//
// What is visible to whom. Operands of chunk i are step 2i of Cells, results step 2i + 1; `publish` stores a
// step's number with release after the payload, `await` loads it with acquire before it is read. So all see
// everyone's operands, and the root everyone's results, whole.
//
// No cell is written while it is read. Only the root reads results, so that a rank cannot tell from
// what it awaits how far the others are, and the root may be another one in the next call: cells are
// acknowledged. A rank finishes step 2i when it has combined its slice of all operands of chunk i, and step
// 2i + 1 when it has taken all results, which is at once where it is not the root; its loads are before that
// store (release), and the rank that opens the cell again waits for it from all others (acquire). The cell that the
// root opens for its own result is never published: in place, what comes before its own operand is combined
// there, as it may not be written over the operand.
//
// No ranks wait in a circle, with four cells or more. Call a rank in chunk i from when it opens step 2i + 2,
// its operands of chunk i + 1, ahead of combining chunk i, to when it finishes step 2i + 1. Acknowledgements
// come every cells/2 steps, the half rounded down; to open step t one of some step up to
// t - 1 - (cells - cells/2), thus up to t - 3, is enough. In chunk i a rank waits
//   * to open step 2i + 2, for all to have finished some step up to 2i - 1, of chunk i - 1 or before;
//   * for all operands of chunk i, published when their ranks were in chunk i - 1, or at the begin of a call;
//   * to open step 2i + 1, for all to have finished some step up to 2i - 2;
//   * as the root, for all results of chunk i, which the others publish in chunk i.
// Take a rank in the lowest chunk i that any is in. All others have finished chunk i - 1 and published what
// they have of chunk i, so none of the first three holds it up, and the root waits only for ranks that are in
// chunk i themselves and not the root: those are not held up. The first chunk of a call is published when all
// of those before it are finished here: it waits for less.

#include <cstdint>

#include "phicoll/collectives/transport/slices.hpp"

namespace phicoll {

struct SlicedReduce : SlicedAlgorithm {
  static AlgorithmFacts facts() {
    return {"sliced", Origin::phicoll, "phicoll",
            "each rank combines one slice of all operands, the root takes all slices; in chunks"};
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : slices_(p, setup, Credit::acknowledged), rank_(setup.rank), ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      if (ranks_ == 1) {
        if (call.send != call.receive) port.move(call.receive, call.send, call.bytes());
        return;
      }
      const bool is_root = rank_ == call.root;
      slices_.each_chunk(port, call, [&, is_root](const SliceChunk& chunk) {
        const Data cell = slices_.open_result(port, call, chunk);
        const Data to = is_root ? slices_.in(call.receive, call, chunk) : cell;
        slices_.combine(port, call, chunk, to, is_root && call.keeps_operand(rank_) ? to : cell);
        if (!is_root) slices_.publish_result(port, call, chunk);
        slices_.finish(port, chunk.step);
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
