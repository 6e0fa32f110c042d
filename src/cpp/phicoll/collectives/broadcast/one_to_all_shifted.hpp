#pragma once

// Every rank copies from the root's memory. Source: velamati-2007 section 3.3 ("OTA", each SPU copies its
// data): the root's metadata, a flag and the address of its data, goes down the tree of the paper's barrier;
// each rank then copies the whole message from there. So that not all read the same place at once, rank i
// begins at offset i S (modulo the size), and copies the initial portion last.

#include <cstdint>

#include "phicoll/collectives/broadcast/header_line.hpp"
#include "phicoll/collectives/broadcast/rank_tree.hpp"
#include "phicoll/collectives/broadcast/staged_pieces.hpp"
#include "phicoll/collectives/broadcast/trailing.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

struct OneToAllShiftedBroadcast : AlgorithmDefaults {
  struct Parameters {
    int shift = 4096;
    int degree = 4;
    Trailing trailing = Trailing::none;
  };

  static AlgorithmFacts facts() {
    return {"one-to-all-shifted", Origin::paper, "velamati-2007 section 3.3",
            "each rank copies from the root's own memory, beginning at a place of its own"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("shift", p.shift, 0, 1 << 30,
                    "S: rank i begins i S bytes into the message; 0: all at the start");
    visitor.integer("degree", p.degree, 2, max_ranks,
                    "of the tree that tells where the data is: growth of the informed in a phase");
    describe_trailing(visitor, p.trailing);
  }
  static void limit(Parameters& p, const Shape& shape) {
    const int useful = shape.size() > 2 ? shape.size() : 2;
    if (p.degree > useful) p.degree = useful;
  }
  static std::size_t staged_at(int ranks) { return headers_footprint(ranks) + counters_footprint(ranks); }
  static std::size_t trailing_at(int ranks) { return staged_at(ranks) + staged_footprint(ranks); }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return trailing_at(shape.size()) + trailing_footprint(p.trailing, shape);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : headers_(setup.at<Strided<HeaderLine>>(0)),
          copied_(setup.at<Strided<CounterLine>>(headers_footprint(setup.size()))),
          staged_(setup, staged_at(setup.size())),
          trailing_(p.trailing, setup, trailing_at(setup.size())),
          tree_(k_nomial_tree(setup.size(), p.degree)),
          shift_(static_cast<std::size_t>(p.shift)),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    // (1) A rank's parent in the tree writes its header and says (release) that what the root stored before
    //     is there; the rank that passes it on has acquired it.
    // (2) A rank's line says (release) that it has copied, which the root awaits before it returns, since its
    //     own buffer is read; and that its header is free, which the next call's parent awaits before writing
    //     to it. Both only grow.
    // (3) A root whose memory others cannot reach says so in the header, and all read its message from a ring
    //     in shared memory, without shift.
    void operator()(Port& port, const Call& call) {
      if (call.count == 0 || ranks_ == 1) return;
      ++number_;
      const int relative = (rank_ - call.root + ranks_) % ranks_;
      if (relative == 0) {
        const Exposed own = handle_if_exposable(port, call.receive, call.count);
        tell_children(port, relative, call.root, own);
        if (own) {
          for (int r = 0; r < ranks_; ++r)
            if (r != rank_) port.wait(copied_[r].value.word, at_least(number_), r);
        } else {
          staged_(port, call);
        }
      } else {
        HeaderLine& header = headers_[rank_].value;
        port.wait(header.sequence, at_least(number_), (tree_.parent(relative) + call.root) % ranks_);
        const Exposed roots = load_handle(port, header);
        tell_children(port, relative, call.root, roots);
        if (roots) {
          const std::size_t from = static_cast<std::size_t>(rank_) * shift_ % call.count;
          port.fetch(call.receive + from, roots, from, call.count - from);
          if (from != 0) port.fetch(call.receive, roots, 0, from);
        } else {
          staged_(port, call);
        }
      }
      port.signal(copied_[rank_].value.word, number_);
      trailing_(port);
    }

   private:
    void tell_children(Port& port, int relative, int root, const Exposed& handle) {
      for (const int* child = tree_.begin(relative); child != tree_.end(relative); ++child) {
        const int rank = (*child + root) % ranks_;
        port.wait(copied_[rank].value.word, at_least(number_ - 1), rank);
        store_handle(port, headers_[rank].value, handle);
        port.signal(headers_[rank].value.sequence, number_);
      }
    }

    Strided<HeaderLine>* headers_;
    Strided<CounterLine>* copied_;
    StagedPieces<Port> staged_;
    TrailingBarrier<Port> trailing_;
    RankTree tree_;
    std::size_t shift_;
    std::uint64_t number_ = 0;  // of the call
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
