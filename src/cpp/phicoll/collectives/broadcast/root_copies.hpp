#pragma once

// The root writes into every rank's own memory. Source: velamati-2007 section 3.3 ("G", root copies all
// data): the root gathers the addresses of all destinations up the tree of the paper's barrier, then takes
// its message chunk by chunk and puts each chunk to every destination.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/broadcast/header_line.hpp"
#include "phicoll/collectives/broadcast/rank_tree.hpp"
#include "phicoll/collectives/broadcast/staged_pieces.hpp"
#include "phicoll/collectives/broadcast/trailing.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

struct RootCopiesBroadcast : AlgorithmDefaults {
  struct Parameters {
    int chunk = 16384;
    int degree = 4;
    Trailing trailing = Trailing::none;
  };

  static AlgorithmFacts facts() {
    return {"root-copies", Origin::paper, "velamati-2007 section 3.3",
            "the root writes the message into every rank's own memory"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("chunk", p.chunk, 64, 1 << 30, "bytes that go to every rank before the next ones");
    visitor.integer("degree", p.degree, 2, max_ranks,
                    "of the tree that gathers addresses: growth of the ranks in a phase");
    describe_trailing(visitor, p.trailing);
  }
  static void limit(Parameters& p, const Shape& shape) {
    const int useful = shape.size() > 2 ? shape.size() : 2;
    if (p.degree > useful) p.degree = useful;
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
          tree_(k_nomial_tree(setup.size(), p.degree)),
          handles_(static_cast<std::size_t>(setup.size())),
          chunk_(static_cast<std::size_t>(p.chunk)),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    // (1) A rank stores its address into its own line and signals the call's number there (release) once the
    //     lines below it have theirs; the root acquires its children's and sees all.
    // (2) After its stores the root signals each rank's done line (release). The rank returns when it has
    //     seen that (acquire), and stores its next address in the next call.
    // (3) A done line is rewritten, perhaps by another root, only after its rank has entered the next call.
    // (4) If any memory is beyond reach, the root tells all to read from a ring in shared memory.
    void operator()(Port& port, const Call& call) {
      if (call.count == 0 || ranks_ == 1) return;
      ++number_;
      const int relative = (rank_ - call.root + ranks_) % ranks_;
      // Children that are told last in a broadcast have the smallest subtrees and arrive first.
      for (const int* child = tree_.end(relative); child != tree_.begin(relative);) {
        --child;
        const int rank = (*child + call.root) % ranks_;
        port.wait(addresses_[rank].value.sequence, at_least(number_), rank);
      }
      bool reached;
      if (relative == 0) {
        reached = read_handles(port);
        if (reached) put_all(port, call);
        // Without a handle: "read the ring".
        for (int i = 1; i < ranks_; ++i) {
          HeaderLine& line = done_[(rank_ + i) % ranks_].value;
          port.store_relaxed(line.exposed, std::uint64_t{reached ? 1u : 0u});
          port.signal(line.sequence, number_);
        }
      } else {
        HeaderLine& own = addresses_[rank_].value;
        store_handle(port, own, handle_if_exposable(port, call.receive, call.count));
        port.signal(own.sequence, number_);
        HeaderLine& done = done_[rank_].value;
        port.wait(done.sequence, at_least(number_), call.root);
        reached = port.load_relaxed(done.exposed) != 0;
      }
      if (!reached) staged_(port, call);
      trailing_(port);
    }

   private:
    bool read_handles(Port& port) {
      bool all = true;
      for (int r = 0; r < ranks_; ++r) {
        if (r == rank_) continue;
        Exposed& handle = handles_[static_cast<std::size_t>(r)];
        handle = load_handle(port, addresses_[r].value);
        all = all && handle;
      }
      return all;
    }
    void put_all(Port& port, const Call& call) {
      for (std::size_t at = 0; at < call.count; at += chunk_) {
        const std::size_t bytes = std::min(chunk_, call.count - at);
        for (int i = 1; i < ranks_; ++i)
          port.put(handles_[static_cast<std::size_t>((rank_ + i) % ranks_)], at, call.receive + at, bytes);
      }
    }

    Strided<HeaderLine>* addresses_;
    Strided<HeaderLine>* done_;
    StagedPieces<Port> staged_;
    TrailingBarrier<Port> trailing_;
    RankTree tree_;
    AlignedVector<Exposed> handles_;
    std::size_t chunk_;
    std::uint64_t number_ = 0;  // of the call
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
