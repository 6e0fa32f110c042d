#pragma once

// Every rank copies from the root's memory. Source: velamati-2007 section 3.3 ("OTA", each SPU copies its
// data): the root's metadata, a flag and the address of its data, goes down the tree of the paper's barrier;
// each rank then copies the whole message from there. So that not all read the same place at once, rank i
// begins at offset i S (modulo the size), and copies the initial portion last.

#include "phicoll/collectives/broadcast/own_memory.hpp"
#include "phicoll/collectives/broadcast/rank_tree.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/memory/control.hpp"

namespace phicoll {

struct OneToAllShiftedBroadcast : OwnMemoryBroadcast {
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
  static void limit(Parameters& p, const Shape& shape) { limit_growth(p.degree, shape); }

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
          tree_(k_nomial_tree(setup.size(), p.degree)),
          shift_(static_cast<std::size_t>(p.shift)) {}

    // (1) A rank's parent in the tree writes its header and says (release) that what the root stored before
    //     is there; the rank that passes it on has acquired it.
    // (2) A rank's done line says (release) that it has copied, which the root awaits before it returns,
    //     since its own buffer is read; and that its header is free, which the next call's parent awaits
    //     before writing to it. Both only grow.
    // (3) A root whose memory others cannot reach says so in the header, and all read its message from a ring
    //     in shared memory, without shift.
    void operator()(Port& port, const Call& call) {
      if (!this->begin(call)) return;
      if (relative_ != 0)
        port.wait(this->where(rank_).sequence, at_least(number_), rank_of(tree_.parent(relative_), call));
      const Exposed roots = relative_ == 0 ? handle_if_exposable(port, call.receive, call.count)
                                           : load_handle(port, this->where(rank_));
      tell_children(port, call, roots);
      if (!roots) {
        this->staged_(port, call);
      } else if (relative_ == 0) {
        for (int r = 0; r < ranks_; ++r)
          if (r != rank_) this->await_done(port, r, r);
      } else {
        const std::size_t from = static_cast<std::size_t>(rank_) * shift_ % call.count;
        port.fetch(call.receive + from, roots, from, call.count - from);
        if (from != 0) port.fetch(call.receive, roots, 0, from);
      }
      port.signal(this->done(rank_).sequence, number_);
      this->trailing_(port);
    }

   private:
    int rank_of(int relative, const Call& call) const { return (relative + call.root) % ranks_; }
    void tell_children(Port& port, const Call& call, const Exposed& handle) {
      for (const int* child = tree_.begin(relative_); child != tree_.end(relative_); ++child) {
        const int rank = rank_of(*child, call);
        port.wait(this->done(rank).sequence, at_least(number_ - 1), rank);
        this->tell_where(port, rank, handle);
      }
    }

    RankTree tree_;
    std::size_t shift_;
  };
};

}  // namespace phicoll
