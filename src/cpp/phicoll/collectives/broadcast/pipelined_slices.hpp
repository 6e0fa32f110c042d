#pragma once

// Pipelined broadcast of large messages in P - 1 slices of whole lines. Source: ramos-hoefler-2013 section
// 4.1.3: in stage 0 receiver i copies slice i - 1 from the root, in stage j slice (i - 1 + j) mod (P - 1)
// from the receiver that got it there, so that one other at a time reads a rank's memory. Flag, address and
// notification share a line. A receiver acknowledges its copy from the root in a stage of its own, lest all
// write to the root's line at once; owners look for notifications at the end.

#include <algorithm>
#include <cstdint>

#include "phicoll/arch/arch.hpp"
#include "phicoll/collectives/broadcast/pieces.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/transport/exposed_words.hpp"
#include "phicoll/memory/condition.hpp"

namespace phicoll {

struct PipelinedSlicesBroadcast : AlgorithmDefaults {
  struct Parameters {
    int slice = 65536;
  };

  static AlgorithmFacts facts() {
    return {"pipelined-slices", Origin::paper, "ramos-hoefler-2013 section 4.1.3",
            "each rank copies one slice from the root, the others from the ranks that did so"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("slice", p.slice, 64, 1 << 24,
                    "bytes of the largest slice; a message of more than a slice a receiver goes in blocks");
  }
  static void limit(Parameters& p, const Shape& shape) {
    limit_piece(p.slice, 2, shape.size());
    p.slice = p.slice / static_cast<int>(arch::line_bytes) * static_cast<int>(arch::line_bytes);
  }

  struct alignas(arch::stride_bytes) Lines {
    alignas(arch::line_bytes) Word<std::uint64_t> flag;  // blocks of which the rank's slice is there
    Word<std::uint64_t> exposed;
    ExposedWords handle;
    Word<std::uint64_t> notified[2];  // how many have read, in blocks of even and of odd number
    // Of a receiver whose root stages: blocks for which its cell is free, and filled.
    alignas(arch::line_bytes) Word<std::uint64_t> free;
    Word<std::uint64_t> filled;
  };
  static std::size_t cells_at(int ranks) { return static_cast<std::size_t>(ranks) * sizeof(Lines); }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return cells_at(shape.size()) + static_cast<std::size_t>(shape.size()) * 2 *
                                        arch::whole_strides(static_cast<std::size_t>(p.slice));
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : lines_(setup.at<Lines>(0)),
          cells_(setup.at<unsigned char>(cells_at(setup.size()))),
          stride_(arch::whole_strides(static_cast<std::size_t>(p.slice))),
          largest_(static_cast<std::size_t>(p.slice)),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    // (1) The flag's number (release) follows the copy of the own slice. Who has awaited it (acquire) reads
    //     the slice by the handle beside it, then adds to the owner's notifications (release).
    // (2) An owner whose buffer is read returns when all have read.
    // (3) An owner beyond reach offers its slice in two alternating shared cells, and awaits this
    //     call's notifications in the next. Longer messages than P - 1 cells go block by block.
    // (4) A root beyond reach writes each receiver's slice into the receiver's cell once that is free; both
    //     numbers have their own line.
    void operator()(Port& port, const Call& call) {
      if (call.count == 0 || ranks_ == 1) return;
      const std::size_t receivers = static_cast<std::size_t>(ranks_ - 1);
      const std::size_t whole = receivers * largest_;
      // A rank that read here in the previous call has read the handle too.
      await_notified(port, 0);
      await_notified(port, 1);
      exposed_ = port.exposable(call.receive, call.count);
      store_handle(port, lines_[rank_].exposed, lines_[rank_].handle,
                   exposed_ ? port.expose(call.receive) : Exposed{0, 0, 0});
      for (std::size_t at = 0; at < call.count;) {
        const std::size_t bytes = std::min(whole, call.count - at);
        const Block block{at, bytes, receivers};
        ++step_;
        if (rank_ == call.root)
          send(port, call, block);
        else
          receive(port, call, block);
        at += bytes;
      }
      if (exposed_) {
        await_notified(port, 0);
        await_notified(port, 1);
      }
    }

   private:
    /// The part of the message that goes at once. Its lines are spread over the receivers as evenly as can
    /// be, the first slices having one more: while there are as many lines, each copies one slice from the
    /// root.
    struct Block {
      std::size_t at;
      std::size_t bytes;
      std::size_t receivers;
      std::size_t lines() const { return (bytes - 1) / arch::line_bytes + 1; }
      std::size_t begin(std::size_t k) const {
        const std::size_t line = k * (lines() / receivers) + std::min(k, lines() % receivers);
        return std::min(line * arch::line_bytes, bytes);
      }
      std::size_t slice_at(std::size_t k) const { return at + begin(k); }
      std::size_t slice_bytes(std::size_t k) const { return begin(k + 1) - begin(k); }
      std::size_t slices() const { return std::min(lines(), receivers); }
    };

    Exposed handle_of(Port& port, int rank) const {
      return load_handle(port, lines_[rank].exposed, lines_[rank].handle);
    }
    std::size_t parity() const { return static_cast<std::size_t>(step_ & 1); }
    Data cell(Port& port, int rank) const {
      return port.shared(cells_ + (static_cast<std::size_t>(rank) * 2 + parity()) * stride_);
    }
    void await_notified(Port& port, std::size_t which) {
      port.wait(lines_[rank_].notified[which], at_least(expected_[which]));
    }
    int receiver(int root, std::size_t k) const { return (root + 1 + static_cast<int>(k)) % ranks_; }

    void send(Port& port, const Call& call, const Block& block) {
      if (exposed_) expected_[parity()] += block.slices();
      port.signal(lines_[rank_].flag, step_);
      if (exposed_) return;
      for (std::size_t k = 0; k < block.slices(); ++k) {
        const int to = receiver(call.root, k);
        port.wait(lines_[to].free, at_least(step_), to);
        port.move(cell(port, to), call.receive + block.slice_at(k), block.slice_bytes(k));
        port.signal(lines_[to].filled, step_);
      }
    }

    void receive(Port& port, const Call& call, const Block& block) {
      const std::size_t receivers = static_cast<std::size_t>(ranks_ - 1);
      const std::size_t own = static_cast<std::size_t>((rank_ - call.root + ranks_) % ranks_) - 1;
      bool tell_root = block.slice_bytes(own) != 0 && from_root(port, call, block, own);
      for (std::size_t stage = 1; stage < receivers; ++stage) {
        if (tell_root && stage > own) {
          tell_root = false;
          notify(port, call.root);
        }
        const std::size_t k = (own + stage) % receivers;
        const std::size_t bytes = block.slice_bytes(k);
        if (bytes == 0) continue;
        const int from = receiver(call.root, k);
        port.wait(lines_[from].flag, at_least(step_), from);
        const Exposed handle = handle_of(port, from);
        const std::size_t at = block.slice_at(k);
        if (handle)
          port.fetch(call.receive + at, handle, at, bytes);
        else
          port.move(call.receive + at, cell(port, from), bytes);
        notify(port, from);
      }
      if (tell_root) notify(port, call.root);
    }
    // Stage 0. Whether the root awaits a notification.
    bool from_root(Port& port, const Call& call, const Block& block, std::size_t own) {
      Lines& line = lines_[rank_];
      const std::size_t at = block.slice_at(own);
      const std::size_t bytes = block.slice_bytes(own);
      port.wait(lines_[call.root].flag, at_least(step_), call.root);
      const Exposed roots = handle_of(port, call.root);
      // The cell was last read two blocks before. This rank has since waited for every other receiver's slice
      // of the block between, and they announce that one after they are through with the one before.
      if (roots) {
        port.fetch(call.receive + at, roots, at, bytes);
        if (!exposed_) port.move(cell(port, rank_), call.receive + at, bytes);
      } else {
        port.signal(line.free, step_);
        port.wait(line.filled, at_least(step_), call.root);
        port.move(call.receive + at, cell(port, rank_), bytes);
      }
      expected_[parity()] += static_cast<std::uint64_t>(ranks_ - 2);
      port.signal(line.flag, step_);
      return static_cast<bool>(roots);
    }
    void notify(Port& port, int rank) { port.signal_add(lines_[rank].notified[parity()], std::uint64_t{1}); }

    Lines* lines_;
    unsigned char* cells_;
    std::size_t stride_;
    std::size_t largest_;
    std::uint64_t step_ = 0;          // blocks so far
    std::uint64_t expected_[2] = {};  // of this rank's notifications
    bool exposed_ = false;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
