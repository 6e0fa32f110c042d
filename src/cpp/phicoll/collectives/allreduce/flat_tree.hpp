#pragma once

// Flat tree. Source: namashivayam-2014 section 5.1.1 ("FT"), with shmem_ptr section 5.2. Rank 0 reads the
// operands of all ranks in turn and combines them in rank order, then writes the result to each in turn.
// There is one bracketing, done once: the same bits everywhere, and an operator need not commute.

#include "phicoll/collectives/transport/transfer.hpp"

namespace phicoll {

struct FlatTreeAllreduce : AlgorithmDefaults {
  struct Parameters {
    TransferWay transfer = TransferWay::load_store;
    int buffer = default_piece_bytes;
  };

  static AlgorithmFacts facts() {
    return {"flat-tree", Origin::paper, "namashivayam-2014 section 5.1.1, FT",
            "rank 0 reads all operands one after another, and writes the result to all"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_transfer(visitor, p.transfer);
    describe_buffer(visitor, p.buffer);
  }
  static void limit(Parameters& p, const Shape& shape) {
    limit_buffer(p.buffer, shape.size(), p.transfer == TransferWay::put_get ? 4 : 2);
  }
  static std::vector<std::size_t> capacities(const Parameters& p) {
    return std::vector<std::size_t>(2, static_cast<std::size_t>(p.buffer));
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
            put_get(port, op, send, receive, count, n);
          },
          [&](const Operator& op, const PieceArrays& a) { load_store(port, op, a); });
    }

   private:
    // (1) A rank puts its operand into its own box, where rank 0 gets it; rank 0 puts the result into the
    //     rank's second box. The publishing store (release) makes what precedes it visible to the rank that
    //     awaits it (acquire).
    // (2) Two cells a box are enough: rank 0 reads all boxes of a piece before it writes any result of it,
    //     and a rank continues once it has its result, so it fills a cell again two pieces later, long after
    //     that was read.
    void put_get(Port& port, const Operator& op, Data send, Data receive, std::size_t count,
                 std::uint64_t n) {
      const std::size_t bytes = count * op.element_bytes;
      if (rank_ != 0) {
        boxes_.put(port, rank_, 0, n, send, bytes);
        port.move(receive, boxes_.await(port, rank_, 1, n, 0), bytes);
        return;
      }
      Data left = send;
      for (int r = 1; r < ranks_; ++r) {
        port.combine(op, receive, left, boxes_.await(port, r, 0, n, r), count);
        left = receive;
      }
      for (int r = 1; r < ranks_; ++r) boxes_.put(port, r, 1, n, receive, bytes);
    }

    // A rank shows where its operand lies and where the result belongs (a buffer in shared memory for what
    // rank 0's loads and stores do not reach); rank 0 loads the one and stores the other. A rank returns when
    // told that the result is there; rank 0 touches nothing of it after that.
    void load_store(Port& port, const Operator& op, const PieceArrays& a) {
      if (rank_ != 0) return load_store_folded(port, shown_, 0, a, scratch_.get(port, 0), 0);
      Data left = a.send;
      for (int r = 1; r < ranks_; ++r) {
        port.combine(op, a.receive, left, shown_.look(port, r, 0, a.number).read, a.count);
        left = a.receive;
      }
      for (int r = 1; r < ranks_; ++r) {
        port.move(shown_.look(port, r, 0, a.number).write, a.receive, a.bytes);
        shown_.done(port, r, 0, a.number);
      }
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
