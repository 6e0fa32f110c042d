#pragma once

// Each rank transfers a piece. Source: velamati-2007 section 3.3 ("AG"): all ranks gather all addresses, then
// each gets a different piece of the message from the root's memory and puts it into every other rank's. No
// piece is smaller than a minimum, so few ranks transfer a small message: 2 or 4 KB were best.

#include <algorithm>

#include "phicoll/collectives/broadcast/own_memory.hpp"

namespace phicoll {

struct PiecePerRankBroadcast : OwnMemoryBroadcast {
  struct Parameters {
    int minimum = 4096;
    int chunk = 16384;
    Trailing trailing = Trailing::none;
  };

  static AlgorithmFacts facts() {
    return {"piece-per-rank", Origin::paper, "velamati-2007 section 3.3",
            "each rank gets a piece from the root's memory and puts it into all others'"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("minimum", p.minimum, 64, 1 << 30, "bytes of the smallest piece that a rank transfers");
    visitor.integer("chunk", p.chunk, 64, 1 << 30,
                    "bytes of a piece that go to every rank before the next ones");
    describe_trailing(visitor, p.trailing);
  }

  template <class Port>
  class Rank : private OwnMemoryRank<Port> {
    using Base = OwnMemoryRank<Port>;
    using Base::number_;
    using Base::rank_;
    using Base::ranks_;
    using Base::relative_;

   public:
    Rank(const Parameters& p, const Setup& setup)
        : Base(p.trailing, setup),
          minimum_(static_cast<std::size_t>(p.minimum)),
          chunk_(static_cast<std::size_t>(p.chunk)) {}

    // (1) A rank stores its address into its line and signals the call's number there (release). A rank
    //     with a piece awaits all (acquire).
    // (2) When its piece is everywhere it signals its line (release, after its loads and stores). Every
    //     rank returns when all with a piece have (acquire): nobody uses its memory or address now.
    // (3) A done line is rewritten only when all are in the next call.
    // (4) If some memory is beyond reach, those that see it transfer nothing and say so in their done
    //     lines; then all read from a ring in shared memory.
    void operator()(Port& port, const Call& call) {
      if (!this->begin(call)) return;
      const Exposed own = handle_if_exposable(port, call.receive, call.count);
      this->tell_where(port, rank_, own);

      // Pieces of whole lines, the root's the first: it transfers small messages alone.
      const std::size_t share = piece_bytes(call.count);
      const int workers = static_cast<int>((call.count - 1) / share) + 1;
      if (relative_ < workers) {
        const bool reached = read_handles(port, own);
        const std::size_t from = static_cast<std::size_t>(relative_) * share;
        if (reached) transfer(port, call, from, std::min(share, call.count - from));
        this->tell_done(port, rank_, reached);
      }
      for (int w = 0; w < workers; ++w) {
        const int worker = (call.root + w) % ranks_;
        this->await_done(port, worker, worker);
      }
      this->end(port, call, port.load_relaxed(this->done(call.root).exposed) != 0);
    }

   private:
    std::size_t piece_bytes(std::size_t count) const {
      const std::size_t even = (count - 1) / static_cast<std::size_t>(ranks_) + 1;
      const std::size_t share = std::max(even, minimum_);
      return arch::whole_lines(share);
    }
    bool read_handles(Port& port, const Exposed& own) {
      bool all = static_cast<bool>(own);
      this->handle(rank_) = own;
      for (int i = 1; i < ranks_; ++i) {
        const int r = this->after(i);
        port.wait(this->where(r).sequence, at_least(number_), r);
        all = this->read_handle(port, r) && all;
      }
      return all;
    }
    // A rank's own part of the piece's way is its own buffer, a destination too.
    void transfer(Port& port, const Call& call, std::size_t from, std::size_t bytes) {
      for (std::size_t done = 0; done < bytes; done += chunk_) {
        const std::size_t at = from + done;
        const std::size_t here = std::min(chunk_, bytes - done);
        if (rank_ != call.root) port.fetch(call.receive + at, this->handle(call.root), at, here);
        for (int i = 1; i < ranks_; ++i) {
          const int r = this->after(i);
          if (r != call.root) port.put(this->handle(r), at, call.receive + at, here);
        }
      }
    }

    std::size_t minimum_;
    std::size_t chunk_;
  };
};

}  // namespace phicoll
