#pragma once

// Reduce to rank 0, then broadcast from there: the composition of two collectives that an allreduce has to
// beat. Up by the local-store tree of velamati-2007, which needs an operator that commutes, or by phicoll's
// mailbox, in rank order; down by phicoll's ring. The result is made once, so all ranks have the same bits.
// Each half has memory of its own and is safe in sequences without barriers by itself; the result lies in the
// receive buffer of rank 0 in between, which only rank 0 touches.

#include "phicoll/collectives/broadcast/ring.hpp"
#include "phicoll/collectives/reduce/local_store_tree.hpp"
#include "phicoll/collectives/reduce/mailbox.hpp"
#include "phicoll/collectives/transport/transfer.hpp"

namespace phicoll {

struct ReduceBroadcast : AlgorithmDefaults {
  enum class Up : unsigned char { local_store_tree, mailbox };

  struct Parameters {
    Up reduce = Up::mailbox;
    int degree = 3;
  };

  static AlgorithmFacts facts() {
    return {"reduce-broadcast", Origin::phicoll, "phicoll, of a reduce and a broadcast",
            "a reduce to rank 0, then the ring broadcast from it"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.choice("reduce", p.reduce, {"local-store-tree", "mailbox"}, "which reduce, with its defaults");
    visitor.integer("degree", p.degree, 1, max_ranks, "of the local-store tree");
  }
  static void limit(Parameters& p, const Shape& shape) { p.degree = tree(p, shape).degree; }
  static const char* unfit(const Parameters& p, const Shape&, const CallFacts& facts) {
    return facts.commutative || p.reduce == Up::mailbox ? nullptr
                                                        : "a commutative operator, or reduce=mailbox";
  }
  static bool in_rank_order(const Parameters& p) { return p.reduce == Up::mailbox; }

  static LocalStoreTreeReduce::Parameters tree(const Parameters& p, const Shape& shape) {
    LocalStoreTreeReduce::Parameters t;
    t.degree = p.degree;
    limit_buffer(t.piece, shape.size(), 8);
    LocalStoreTreeReduce::limit(t, shape);
    return t;
  }
  static MailboxReduce::Parameters mailbox(const Shape& shape) {
    MailboxReduce::Parameters m;
    MailboxReduce::limit(m, shape);
    return m;
  }
  static RingBroadcast::Parameters ring(const Shape& shape) {
    RingBroadcast::Parameters r;
    RingBroadcast::limit(r, shape);
    return r;
  }
  static std::size_t up_footprint(const Parameters& p, const Shape& shape) {
    const std::size_t bytes = p.reduce == Up::mailbox
                                  ? MailboxReduce::footprint(mailbox(shape), shape)
                                  : LocalStoreTreeReduce::footprint(tree(p, shape), shape);
    return arch::whole_strides(bytes);
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return up_footprint(p, shape) + RingBroadcast::footprint(ring(shape), shape);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : tree_(tree(p, setup.shape), setup),
          mailbox_(mailbox(setup.shape), setup),
          ring_(ring(setup.shape),
                Setup{setup.rank, setup.shape, setup.memory + up_footprint(p, setup.shape)}),
          rank_(setup.rank),
          up_(p.reduce) {}

    void operator()(Port& port, const Call& call) {
      Call up = call;
      if (rank_ != 0) up.receive = Data();
      if (up_ == Up::mailbox)
        mailbox_(port, up);
      else
        tree_(port, up);
      Call down;
      down.receive = call.receive;
      down.count = call.bytes();
      down.tag = call.tag;
      ring_(port, down);
    }

   private:
    LocalStoreTreeReduce::Rank<Port> tree_;
    MailboxReduce::Rank<Port> mailbox_;
    RingBroadcast::Rank<Port> ring_;
    int rank_;
    Up up_;
  };
};

}  // namespace phicoll
