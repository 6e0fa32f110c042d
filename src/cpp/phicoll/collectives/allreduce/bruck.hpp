#pragma once

// The Bruck variant. Source: namashivayam-2014 section 5.1.3 ("BR"), with shmem_ptr section 5.2. In step s of
// the core's floor(lg P) steps, rank c gives what it has to rank c - 2^s and combines what it gets from rank
// c + 2^s, modulo the core's size. Folding to a power of two first makes every operand enter exactly once.
//
// Rank c combines in the order c, c + 1, ... and around to c - 1, each rank in another rotation. So an
// operator has to commute, and last bits may differ between ranks: refused without bit_identical=no.
// Transfers: doubling_exchange.hpp.

#include "phicoll/collectives/transport/doubling_exchange.hpp"

namespace phicoll {

struct BruckAllreduce : DoublingAllreduce {
  struct Parameters {
    TransferWay transfer = TransferWay::load_store;
    int buffer = default_piece_bytes;
    YesNo bit_identical = YesNo::yes;
  };

  static AlgorithmFacts facts() {
    return {
        "bruck", Origin::paper, "namashivayam-2014 section 5.1.3, BR",
        "each rank passes what it has on to rank - 2^s; not bit-identical between ranks in floating point"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_transfer(visitor, p.transfer);
    describe_buffer(visitor, p.buffer);
    describe_yes_no(visitor, "bit_identical", p.bit_identical,
                    "yes: refused where the last bits of a result could differ between ranks");
  }
  static const char* unfit(const Parameters& p, const Shape&, const CallFacts& facts) {
    if (!facts.commutative) return "a commutative operator: each rank combines in another rotation";
    if (!facts.associative && p.bit_identical == YesNo::yes)
      return "an operator whose result does not depend on the bracketing (a type of integers, such as "
             "int32), or bruck:bit_identical=no, which accepts other last bits on each rank";
    return nullptr;
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup) : exchange_(setup, p.transfer, p.buffer) {
      const Fold& fold = exchange_.fold;
      if (fold.folded(setup.rank)) return;
      const int core = fold.core(setup.rank);
      const int q = fold.core_size();
      for (int s = 0; s < fold.steps(); ++s)
        exchange_.steps.push_back(
            DoublingStep{fold.rank((q + core - (1 << s)) % q), fold.rank((core + (1 << s)) % q), false});
    }

    void operator()(Port& port, const Call& call) { exchange_(port, call); }

   private:
    DoublingExchange<Port> exchange_;
  };
};

}  // namespace phicoll
