#pragma once

// phicoll's alltoall for large blocks of one size: every rank copies its block of everyone's send buffer from
// where it lies. Where any rank's buffer cannot be reached by its peers, all go through the mailbox: each
// sees everyone's word on it, so all decide alike. A rank returns when all have read their blocks.

#include "phicoll/collectives/alltoall/mailbox.hpp"
#include "phicoll/collectives/entries.hpp"
#include "phicoll/collectives/exposure.hpp"

namespace phicoll {

struct SingleCopyAlltoall : DataAlgorithm {
  struct Parameters {};

  static AlgorithmFacts facts() {
    return {"single-copy", Origin::phicoll, "phicoll",
            "every rank copies its block of everyone's buffer from where it lies"};
  }

  template <class Visitor>
  static void describe(Visitor&, Parameters&) {}
  static const char* unfit(const Parameters&, const Shape&, const CallFacts& facts) {
    return facts.vector ? "blocks of one size" : nullptr;
  }

  static MailboxAlltoall::Parameters other(const Shape& shape) {
    MailboxAlltoall::Parameters p;
    MailboxAlltoall::limit(p, shape);
    return p;
  }
  static std::size_t footprint(const Parameters&, const Shape& shape) {
    return exposures_footprint(shape.size()) + MailboxAlltoall::footprint(other(shape), shape);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters&, const Setup& setup)
        : exposures_(setup, 0),
          mailbox_(other(setup.shape),
                   Setup{setup.rank, setup.shape, setup.memory + exposures_footprint(setup.size())}),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      if (call.count == 0) return;
      const std::size_t all = call.count * static_cast<std::size_t>(ranks_);
      const auto at = [&](int r) { return static_cast<std::size_t>(r) * call.count; };
      exposures_.publish(port, call.send, all, Data(), 0);
      bool reached = port.exposable(call.send, all);
      for (int turn = 1; turn < ranks_; ++turn)
        if (!exposures_.await(port, (rank_ + turn) % ranks_).send) reached = false;
      if (reached) {
        for (int turn = 1; turn < ranks_; ++turn) {
          const int r = (rank_ + turn) % ranks_;
          port.fetch(call.receive + at(r), exposures_.await(port, r).send, at(rank_), call.count);
        }
        port.move(call.receive + at(rank_), call.send + at(rank_), call.count);
      }
      exposures_.finish(port);
      exposures_.await_finish_of_all(port);
      if (!reached) mailbox_(port, call);
    }

   private:
    Exposures<Port> exposures_;
    MailboxAlltoall::Rank<Port> mailbox_;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
