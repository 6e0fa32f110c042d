#pragma once

// Tree reduce over sends and receives. Source: velamati-2007 section 3.4 ("TREEMM": "the usual tree based
// reduction algorithm on top of our implementation of MPI_Send and MPI_Recv, just for comparison purposes";
// "the extra copying to memory makes the performance worse"). A send copies a piece into a mailbox, a receive
// copies it out into the receiver's buffer, and only then is it combined: the extra copies are the algorithm.

#include <cstdint>
#include <vector>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/collectives/reduce/tree_pieces.hpp"
#include "phicoll/collectives/transport/mailbox.hpp"
#include "phicoll/collectives/transport/trailing.hpp"
#include "phicoll/memory/control.hpp"

namespace phicoll {

struct SendReceiveTreeReduce : AlgorithmDefaults {
  struct Parameters {
    int degree = 2;
    int cell = 8192;
    int cells = 4;
    Trailing trailing = Trailing::none;
  };

  static AlgorithmFacts facts() {
    return {"send-receive-tree", Origin::paper, "velamati-2007 section 3.4 (TREEMM)",
            "the usual tree over sends and receives, which copy in and copy out, in rank order"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("degree", p.degree, 2, max_ranks, "factor between the distances of two phases");
    visitor.integer("cell", p.cell, max_element_bytes, 1 << 20, "bytes of a piece");
    visitor.integer("cells", p.cells, 2, 256, "pieces that a rank may be ahead of its parent");
    describe_trailing(visitor, p.trailing);
  }

  static void limit(Parameters& p, const Shape& shape) {
    limit_growth(p.degree, shape);
    limit_bytes(p.cell, max_element_bytes, [&] { return footprint(p, shape); });
  }

  static std::size_t buffers_at(const Parameters& p, int ranks) {
    return mailbox_footprint(ranks, p.cells, static_cast<std::size_t>(p.cell));
  }
  static std::size_t barrier_at(const Parameters& p, const Shape& shape) {
    return buffers_at(p, shape.size()) +
           static_cast<std::size_t>(shape.size()) * 2 * arch::whole_strides(static_cast<std::size_t>(p.cell));
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return barrier_at(p, shape) + trailing_footprint(p.trailing, shape);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : p_(p),
          mailbox_(setup, 0, p.cells, static_cast<std::size_t>(p.cell)),
          barrier_(p.trailing, setup, barrier_at(p, setup.shape)),
          buffers_(setup.memory + buffers_at(p, setup.size()) +
                   static_cast<std::size_t>(setup.rank) * 2 *
                       arch::whole_strides(static_cast<std::size_t>(p.cell))),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    // The tree: at distance 1, k, k^2 ... node n (n divisible by k times the distance) receives from n + i
    // distance, i = 1..k-1, in this order, so that it has always combined consecutive ranks, and operands
    // meet in rank order. Node 0 is the root where the operator commutes, otherwise rank 0, which then sends
    // the result to the root.
    //
    // A rank's ring of cells is a Mailbox; message m of a call is piece m, sent once, to the parent. Its two
    // buffers, the piece received and the piece combined, are its own.
    void operator()(Port& port, const Call& call) {
      if (ranks_ == 1) {
        if (call.send != call.receive) port.move(call.receive, call.send, call.bytes());
        return;
      }
      const int top = call.op.commutative ? call.root : 0;
      if (top != top_) turn_to(top);
      const std::size_t size = call.op.element_bytes;
      const std::size_t most = mailbox_.bytes() / size;
      std::uint64_t m = 0;
      for (std::size_t first = 0; first < call.count; first += most, ++m) {
        const std::size_t count = call.count - first < most ? call.count - first : most;
        piece(port, call, m, first * size, count);
      }
      mailbox_.next_call(m);
      barrier_(port);
    }

   private:
    void turn_to(int top) {
      top_ = top;
      children_.clear();
      const int node = node_of(rank_, top, ranks_);
      for (long distance = 1; distance < ranks_; distance *= p_.degree) {
        if (node % (distance * p_.degree) != 0) return;
        for (int i = 1; i < p_.degree && node + i * distance < ranks_; ++i)
          children_.push_back(rank_of(node + static_cast<int>(i * distance), top, ranks_));
      }
    }

    void piece(Port& port, const Call& call, std::uint64_t m, std::size_t at, std::size_t count) {
      const std::size_t bytes = count * call.op.element_bytes;
      const bool at_top = rank_ == top_;
      const Data received = port.shared(buffers_);
      // On a root at the top the result goes where it belongs at once; elsewhere the operand is not ours to
      // write over.
      const Data result =
          at_top && rank_ == call.root
              ? call.receive + at
              : port.shared(buffers_ + arch::whole_strides(static_cast<std::size_t>(p_.cell)));
      Data left = call.send + at;
      for (const int child : children_) {
        receive(port, call, received, child, m, bytes);
        port.combine(call.op, result, left, received, count);
        left = result;
      }
      if (!at_top || rank_ != call.root) send(port, call, left, m, bytes);
      if (rank_ == call.root && !at_top) receive(port, call, call.receive + at, top_, m, bytes);
    }

    void send(Port& port, const Call& call, Data from, std::uint64_t m, std::size_t bytes) {
      port.move(mailbox_.open(port, m, bytes), from, bytes);
      mailbox_.send(port, m, call.tag);
    }
    void receive(Port& port, const Call& call, Data to, int from, std::uint64_t m, std::size_t bytes) {
      port.move(to, mailbox_.await(port, from, m, call.tag, bytes), bytes);
      mailbox_.finish(port, from, m);
    }

    Parameters p_;
    Mailbox<Port> mailbox_;
    TrailingBarrier<Port> barrier_;
    unsigned char* buffers_;
    std::vector<int> children_;
    int rank_;
    int ranks_;
    int top_ = -1;
  };
};

}  // namespace phicoll
