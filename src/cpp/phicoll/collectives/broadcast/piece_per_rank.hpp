#pragma once

// Each rank transfers a piece. Source: velamati-2007 section 3.3 ("AG"): all ranks gather all addresses, then
// each gets a different piece of the message from the root's memory and puts it into every other rank's. No
// piece is smaller than a minimum, so few ranks transfer a small message: 2 or 4 KB were best.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/broadcast/header_line.hpp"
#include "phicoll/collectives/broadcast/staged_pieces.hpp"
#include "phicoll/collectives/broadcast/trailing.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

struct PiecePerRankBroadcast : AlgorithmDefaults {
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
  static std::size_t staged_at(int ranks) { return 2 * headers_footprint(ranks); }
  static std::size_t trailing_at(int ranks) { return staged_at(ranks) + staged_footprint(ranks); }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return trailing_at(shape.size()) + trailing_footprint(p.trailing, shape);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : addresses_(setup.at<Strided<HeaderLine>>(0)),
          done_(setup.at<Strided<HeaderLine>>(headers_footprint(setup.size()))),
          staged_(setup, staged_at(setup.size())),
          trailing_(p.trailing, setup, trailing_at(setup.size())),
          handles_(static_cast<std::size_t>(setup.size())),
          minimum_(static_cast<std::size_t>(p.minimum)),
          chunk_(static_cast<std::size_t>(p.chunk)),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    // (1) A rank stores its address into its own line and signals the call's number there (release). A rank
    //     with a piece waits for all of them (acquire).
    // (2) When its piece is everywhere, it signals its done line (release after its loads from the root and
    //     its stores). Every rank returns when all with a piece have done so (acquire): then nobody reads or
    //     writes its memory or needs its address, so it may store the next.
    void operator()(Port& port, const Call& call) {
      if (call.count == 0 || ranks_ == 1) return;
      ++number_;
      const Exposed own = handle_if_exposable(port, call.receive, call.count);
      store_handle(port, addresses_[rank_].value, own);
      port.signal(addresses_[rank_].value.sequence, number_);

      // Pieces of whole lines, the root's the first: it transfers small messages alone.
      const std::size_t share = piece_bytes(call.count);
      const int workers = static_cast<int>((call.count - 1) / share) + 1;
      const int relative = (rank_ - call.root + ranks_) % ranks_;
      if (relative < workers) {
        const bool reached = read_handles(port, own);
        if (reached) {
          const std::size_t from = static_cast<std::size_t>(relative) * share;
          transfer(port, call, from, std::min(share, call.count - from));
        }
        port.store_relaxed(done_[rank_].value.exposed, std::uint64_t{reached ? 1u : 0u});
        port.signal(done_[rank_].value.sequence, number_);
      }
      for (int w = 0; w < workers; ++w) {
        const int worker = (call.root + w) % ranks_;
        port.wait(done_[worker].value.sequence, at_least(number_), worker);
      }
      if (port.load_relaxed(done_[call.root].value.exposed) == 0) staged_(port, call);
      trailing_(port);
    }

   private:
    std::size_t piece_bytes(std::size_t count) const {
      const std::size_t ranks = static_cast<std::size_t>(ranks_);
      const std::size_t even = (count - 1) / ranks + 1;
      const std::size_t share = std::max(even, minimum_);
      return arch::whole_lines(share);
    }
    bool read_handles(Port& port, const Exposed& own) {
      bool all = static_cast<bool>(own);
      handles_[static_cast<std::size_t>(rank_)] = own;
      for (int i = 1; i < ranks_; ++i) {
        const int r = (rank_ + i) % ranks_;
        port.wait(addresses_[r].value.sequence, at_least(number_), r);
        Exposed& handle = handles_[static_cast<std::size_t>(r)];
        handle = load_handle(port, addresses_[r].value);
        all = all && handle;
      }
      return all;
    }
    // (3) A done line is written again only when all have entered the next call.
    // (4) If a rank's memory cannot be reached, those that see that transfer nothing and say so in their done
    //     lines; then all read the message from a ring in shared memory.

    // A rank's own part of the piece's way is its own buffer, a destination too.
    void transfer(Port& port, const Call& call, std::size_t from, std::size_t bytes) {
      for (std::size_t done = 0; done < bytes; done += chunk_) {
        const std::size_t at = from + done;
        const std::size_t here = std::min(chunk_, bytes - done);
        if (rank_ != call.root)
          port.fetch(call.receive + at, handles_[static_cast<std::size_t>(call.root)], at, here);
        for (int i = 1; i < ranks_; ++i) {
          const int r = (rank_ + i) % ranks_;
          if (r != call.root) port.put(handles_[static_cast<std::size_t>(r)], at, call.receive + at, here);
        }
      }
    }

    Strided<HeaderLine>* addresses_;
    Strided<HeaderLine>* done_;
    StagedPieces<Port> staged_;
    TrailingBarrier<Port> trailing_;
    AlignedVector<Exposed> handles_;
    std::size_t minimum_;
    std::size_t chunk_;
    std::uint64_t number_ = 0;  // of the call
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
