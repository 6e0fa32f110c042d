#pragma once

// phicoll's gather for large blocks: one copy from each rank's block to its place in the root's buffer, made
// from both sides at once. Where the root's buffer cannot be reached, through the mailbox.

#include "phicoll/collectives/entries.hpp"
#include "phicoll/collectives/gather/mailbox.hpp"
#include "phicoll/collectives/rooted_copy.hpp"

namespace phicoll {

struct SingleCopyGather : DataAlgorithm {
  struct Parameters {
    int piece = 262144;
    int cells = 64;
  };

  static AlgorithmFacts facts() {
    return {"single-copy", Origin::phicoll, "phicoll",
            "one copy from each rank's block to the root's buffer, from both sides at once"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("piece", p.piece, 4096, 1 << 24, "bytes that one side copies at a time");
    visitor.integer("cells", p.cells, 2, 4096, "cells of the other way, where buffers cannot be reached");
  }
  static const char* unfit(const Parameters&, const Shape&, const CallFacts& facts) {
    return facts.vector ? "blocks of one size" : nullptr;
  }

  static MailboxGather::Parameters other(const Parameters& p, const Shape& shape) {
    MailboxGather::Parameters way;
    way.cells = p.cells;
    MailboxGather::limit(way, shape);
    return way;
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return exposures_footprint(shape.size()) + MailboxGather::footprint(other(p, shape), shape);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : copy_(setup, 0, static_cast<std::size_t>(p.piece), true),
          mailbox_(other(p, setup.shape),
                   Setup{setup.rank, setup.shape, setup.memory + exposures_footprint(setup.size())}),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      if (call.count == 0) return;
      const auto at = [&](int r) { return static_cast<std::size_t>(r) * call.count; };
      bool reached = false;
      if (rank_ == call.root) {
        reached = copy_.begin_root(port, call.tag, call.receive, at(ranks_));
        if (reached && call.receive + at(rank_) != call.send)
          port.move(call.receive + at(rank_), call.send, call.count);
        if (reached)
          for (int turn = 1; turn < ranks_; ++turn) {
            const int r = (rank_ + turn) % ranks_;
            copy_.serve(port, r, call.receive, at(r), call.count);
          }
        copy_.end_root(port);
      } else {
        reached = copy_.exchange(port, call.tag, call.root, call.send, at(rank_), call.count);
      }
      if (!reached) mailbox_(port, call);
    }

   private:
    RootedCopy<Port> copy_;
    MailboxGather::Rank<Port> mailbox_;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
