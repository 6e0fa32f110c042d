#pragma once

// The root writes into every rank's own memory. Source: velamati-2007 section 3.3 ("G", root copies all
// data): the root gathers the addresses of all destinations up the tree of the paper's barrier, then takes
// its message chunk by chunk and puts each chunk to every destination.

#include <algorithm>

#include "phicoll/collectives/broadcast/own_memory.hpp"
#include "phicoll/collectives/broadcast/rank_tree.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/memory/control.hpp"

namespace phicoll {

struct RootCopiesBroadcast : OwnMemoryBroadcast {
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
          chunk_(static_cast<std::size_t>(p.chunk)) {}

    // (1) A rank stores its address into its own line and signals the call's number there (release) once the
    //     lines below it have theirs; the root acquires its children's and sees all.
    // (2) After its stores the root signals each rank's done line (release). The rank returns when it has
    //     seen that (acquire), and stores its next address in the next call.
    // (3) A done line is rewritten, perhaps by another root, only after its rank has entered the next call.
    // (4) If any memory is beyond reach, the root tells all to read from a ring in shared memory.
    void operator()(Port& port, const Call& call) {
      if (!this->begin(call)) return;
      // Children that are told last in a broadcast have the smallest subtrees and arrive first.
      for (const int* child = tree_.end(relative_); child != tree_.begin(relative_);) {
        --child;
        const int rank = (*child + call.root) % ranks_;
        port.wait(this->where(rank).sequence, at_least(number_), rank);
      }
      bool reached = true;
      if (relative_ == 0) {
        for (int r = 0; r < ranks_; ++r)
          if (r != rank_) reached = this->read_handle(port, r) && reached;
        if (reached) put_all(port, call);
        for (int i = 1; i < ranks_; ++i) this->tell_done(port, this->after(i), reached);
      } else {
        this->tell_where(port, rank_, handle_if_exposable(port, call.receive, call.count));
        this->await_done(port, rank_, call.root);
        reached = port.load_relaxed(this->done(rank_).exposed) != 0;
      }
      this->end(port, call, reached);
    }

   private:
    void put_all(Port& port, const Call& call) {
      for (std::size_t at = 0; at < call.count; at += chunk_) {
        const std::size_t bytes = std::min(chunk_, call.count - at);
        for (int i = 1; i < ranks_; ++i) port.put(this->handle(this->after(i)), at, call.receive + at, bytes);
      }
    }

    RankTree tree_;
    std::size_t chunk_;
  };
};

}  // namespace phicoll
