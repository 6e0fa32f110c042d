#pragma once

// Every rank reduces all operands in rank order. Source: namashivayam-2014 sections 4.2 and 6.2.1 name "the
// default all-to-all reduction" of OpenSHMEM as their baseline without defining it; this is the plainest
// reading. Each rank does the same operations in the same order: the same bits everywhere, and an operator
// need not commute.
//
// put/get: each rank puts its operand into its own box, which all read; two cells and no acknowledgement,
// because no rank ends a piece before all have begun it (PutBoxes).

#include "phicoll/collectives/transport/transfer.hpp"

namespace phicoll {

struct AllReadsAll : AlgorithmDefaults {
  struct Parameters {
    TransferWay transfer = TransferWay::put_get;
    int buffer = default_piece_bytes;
  };

  static AlgorithmFacts facts() {
    return {"all-reads-all", Origin::paper, "namashivayam-2014 section 6.2.1, the baseline",
            "every rank reads all operands and reduces them in rank order"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_transfer(visitor, p.transfer);
    describe_buffer(visitor, p.buffer);
  }
  static void limit(Parameters& p, const Shape& shape) { limit_buffer(p.buffer, shape.size(), 2); }
  static std::vector<std::size_t> capacities(const Parameters& p) {
    return std::vector<std::size_t>(1, static_cast<std::size_t>(p.buffer));
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    if (p.transfer == TransferWay::put_get)
      return put_boxes_footprint(shape.size(), capacities(p), 2, Credit::implied);
    return ScratchBuffers::footprint(shape.size(), static_cast<std::size_t>(p.buffer)) +
           shown_footprint(shape.size(), 1);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : boxes_(setup, 0, capacities(p), 2, Credit::implied),
          scratch_(setup, 0, static_cast<std::size_t>(p.buffer)),
          shown_(setup, ScratchBuffers::footprint(setup.size(), static_cast<std::size_t>(p.buffer)), 1),
          pieces_(p.transfer, p.buffer, setup.size()),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      boxes_.begin(call);
      shown_.begin(call);
      pieces_(
          port, call,
          [&](const Operator& op, Data send, Data receive, std::size_t count, std::uint64_t n) {
            boxes_.put(port, rank_, 0, n, send, count * op.element_bytes);
            reduce(port, op, receive, count, [&, n](int r) { return boxes_.await(port, r, 0, n, r); });
          },
          [&](const Operator& op, const PieceArrays& a) { load_store(port, op, a); });
    }

   private:
    template <class Operand>
    void reduce(Port& port, const Operator& op, Data receive, std::size_t count, Operand operand) {
      Data left = operand(0);
      for (int r = 1; r < ranks_; ++r) {
        port.combine(op, receive, left, operand(r), count);
        left = receive;
      }
    }

    // All read the operand in its owner's send buffer, or in a buffer in shared memory if they do not reach
    // that or it is about to be overwritten (in place).
    //
    // (1) Each rank counts the pieces that it has read (release).
    // (2) An owner ends a piece when all have counted it (acquire), so no rank reads its operand any more.
    //     Only then is the line that shows it stored again.
    void load_store(Port& port, const Operator& op, const PieceArrays& a) {
      Data mine = a.send;
      if (!a.send_direct || a.send == a.receive) {
        mine = scratch_.get(port, 0);
        port.move(mine, a.send, a.bytes);
      }
      shown_.show(port, 0, a.number, mine, mine);
      reduce(port, op, a.receive, a.count,
             [&](int r) { return r == rank_ ? mine : shown_.look(port, r, 0, a.number).read; });
      shown_.count(port, 0, a.number);
      for (int r = 0; r < ranks_; ++r)
        if (r != rank_) shown_.await_count(port, r, 0, a.number);
    }

    PutBoxes<Port> boxes_;
    ScratchBuffers scratch_;
    Shown<Port> shown_;
    TransferPieces pieces_;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
