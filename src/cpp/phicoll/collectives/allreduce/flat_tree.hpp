#pragma once

// The flat allreduces: operands of all ranks, combined one after the other in rank order. There is one
// bracketing: the same bits everywhere, and an operator need not commute. What differs is who combines:
//
// - Rank 0 reads the operands of all ranks in turn, then writes the result to each in turn: the flat tree.
//   Source: namashivayam-2014 section 5.1.1 ("FT"), with shmem_ptr section 5.2.
// - Every rank reduces all operands. Source: sections 4.2 and 6.2.1 name "the default all-to-all reduction"
//   of OpenSHMEM as their baseline without defining it; this is the plainest reading.

#include "phicoll/collectives/transport/in_rank_order.hpp"
#include "phicoll/collectives/transport/transfer.hpp"

namespace phicoll {

enum class Combiner : unsigned char { rank_0, all };

template <Combiner who>
struct FlatAllreduce : AlgorithmDefaults {
  struct Parameters {
    TransferWay transfer = who == Combiner::all ? TransferWay::put_get : TransferWay::load_store;
    int buffer = default_piece_bytes;
  };

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_transfer(visitor, p.transfer);
    describe_buffer(visitor, p.buffer);
  }
  static void limit(Parameters& p, const Shape& shape) {
    limit_buffer(p.buffer, shape.size(), p.transfer == TransferWay::put_get ? 2 * boxes : 2);
  }
  static bool in_rank_order(const Parameters&) { return true; }
  static TransferMemory memory(const Parameters& p) {
    return {p.transfer, std::vector<std::size_t>(boxes, static_cast<std::size_t>(p.buffer)),
            static_cast<std::size_t>(p.buffer), 1};
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return memory(p).footprint(shape.size());
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : transfer_(setup, memory(p)), rank_(setup.rank), ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      transfer_(
          port, call,
          [&](const Operator& op, Data send, Data receive, std::size_t count, std::uint64_t n) {
            put_get(port, op, send, receive, count, n);
          },
          [&](const Operator& op, const PieceArrays& a) {
            if (who == Combiner::all)
              all_load(port, op, a);
            else
              rank_0_loads(port, op, a);
          });
    }

   private:
    // (1) A rank puts its operand into its own box, where all get it, or rank 0 alone, which then puts the
    //     result into the rank's second box. The publishing store (release) makes what precedes visible to
    //     who awaits it (acquire).
    // (2) Two cells a box are enough without acknowledgements. If all combine, no rank ends a piece before
    //     all have begun it (PutBoxes). Otherwise rank 0 reads all boxes of a piece before it writes any
    //     result of it, and a rank continues with its result, so it refills a cell two pieces later, long
    //     after the read.
    void put_get(Port& port, const Operator& op, Data send, Data receive, std::size_t count,
                 std::uint64_t n) {
      const std::size_t bytes = count * op.element_bytes;
      const bool one = who == Combiner::rank_0;
      if (!one || rank_ != 0) transfer_.boxes.put(port, rank_, 0, n, send, bytes);
      if (one && rank_ != 0) return port.move(receive, transfer_.boxes.await(port, rank_, 1, n, 0), bytes);
      combine_in_rank_order(port, op, ranks_, receive, count, [&, n, one](int r) {
        return one && r == 0 ? send : transfer_.boxes.await(port, r, 0, n, r);
      });
      for (int r = 1; one && r < ranks_; ++r) transfer_.boxes.put(port, r, 1, n, receive, bytes);
    }

    // A rank shows where its operand lies and where the result belongs (a buffer in shared memory for what
    // rank 0's loads and stores do not reach); rank 0 loads the one and stores the other. A rank returns when
    // told that the result is there; rank 0 touches nothing of it after that.
    void rank_0_loads(Port& port, const Operator& op, const PieceArrays& a) {
      Shown<Port>& shown = transfer_.shown;
      if (rank_ != 0) return load_store_folded(port, shown, 0, a, transfer_.scratch.get(port, 0), 0);
      combine_in_rank_order(port, op, ranks_, a.receive, a.count,
                            [&](int r) { return r == 0 ? a.send : shown.look(port, r, 0, a.number).read; });
      for (int r = 1; r < ranks_; ++r) {
        port.move(shown.look(port, r, 0, a.number).write, a.receive, a.bytes);
        shown.done(port, r, 0, a.number);
      }
    }

    // All read the operand in its owner's send buffer, or in a buffer in shared memory if they do not reach
    // that or it is about to be overwritten (in place).
    //
    // (1) Each rank counts the pieces that it has read (release).
    // (2) An owner ends a piece when all have counted it (acquire), so no rank reads its operand any more.
    //     Only then is the line that shows it stored again.
    void all_load(Port& port, const Operator& op, const PieceArrays& a) {
      Shown<Port>& shown = transfer_.shown;
      Data mine = a.send;
      if (!a.send_direct || a.send == a.receive) {
        mine = transfer_.scratch.get(port, 0);
        port.move(mine, a.send, a.bytes);
      }
      shown.show(port, 0, a.number, mine, mine);
      combine_in_rank_order(port, op, ranks_, a.receive, a.count,
                            [&](int r) { return r == rank_ ? mine : shown.look(port, r, 0, a.number).read; });
      shown.count(port, 0, a.number);
      for (int r = 0; r < ranks_; ++r)
        if (r != rank_) shown.await_count(port, r, 0, a.number);
    }

    PiecewiseTransfer<Port> transfer_;
    int rank_;
    int ranks_;
  };

 private:
  // A rank's operand, and the result from a single combiner.
  static constexpr int boxes = who == Combiner::all ? 1 : 2;
};

struct FlatTreeAllreduce : FlatAllreduce<Combiner::rank_0> {
  static AlgorithmFacts facts() {
    return {"flat-tree", Origin::paper, "namashivayam-2014 section 5.1.1, FT",
            "rank 0 reads all operands one after another, and writes the result to all"};
  }
};

struct AllReadsAll : FlatAllreduce<Combiner::all> {
  static AlgorithmFacts facts() {
    return {"all-reads-all", Origin::paper, "namashivayam-2014 section 6.2.1, the baseline",
            "every rank reads all operands and reduces them in rank order"};
  }
};

}  // namespace phicoll
