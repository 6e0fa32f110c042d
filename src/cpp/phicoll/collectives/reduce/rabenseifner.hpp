#pragma once

// Reduce by a reduce-scatter of halving ranges and a gather. Source: Rabenseifner: Optimization of collective
// reduction operations (2004), his reduce; numbers of ranks other than powers of two fold as in
// namashivayam-2014 section 5.1.2. No rank combines more than the message, and all share the steps: the
// algorithm for long messages and many ranks. The phases use load and store (halving.hpp). Operands meet in
// rank order by one bracketing, whatever the root, the size and the parameters: the same bits in every run.

#include "phicoll/collectives/transport/halving.hpp"

namespace phicoll {

struct RabenseifnerReduce : AlgorithmDefaults {
  struct Parameters {
    int least = 256;
    int buffer = default_piece_bytes;
  };

  static AlgorithmFacts facts() {
    return {"rabenseifner", Origin::phicoll, "Rabenseifner 2004",
            "a reduce-scatter of halving ranges at doubling distances, and a gather to the root"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("least", p.least, 1, 1 << 24,
                    "bytes of the smallest half; what is shorter goes towards the root whole");
    describe_buffer(visitor, p.buffer);
  }
  static void limit(Parameters& p, const Shape& shape) {
    limit_buffer(p.buffer, shape.size(), 1, HalvingMemory::what_is_shown(shape.size()));
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return HalvingMemory::footprint(shape.size(), static_cast<std::size_t>(p.buffer), 1);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : halving_(setup, static_cast<std::size_t>(p.buffer), 1),
          pieces_(TransferWay::load_store, p.buffer, setup.size()),
          least_(static_cast<std::size_t>(p.least)),
          rank_(setup.rank) {}

    // 1. While halves have at least `least` bytes, each of a pair combines one.
    // 2. Then the rank on the root's side combines the whole common range, and the other
    //    leaves: a tree towards the root, all steps of a short message.
    // 3. All remaining ranks store their ranges into the root's array at once. They tell it in the steps of 1
    //    in reverse: in each, half of the ranks tells the other, and leaves.
    //
    // Bits of core numbers tell the root's side. If the root has folded, the rank above stands in, with the
    // root's array.
    void operator()(Port& port, const Call& call) {
      halving_.shown.begin(call);
      Call own = call;
      if (rank_ != call.root) own.receive = own.send;  // which is only read
      pieces_.where_it_lies(port, own,
                            [&](const Operator& op, const PieceArrays& a) { piece(port, op, call.root, a); });
    }

   private:
    // (1) A rank that knows where the root's array is shows it in step s of phase 1 as the place to write:
    //     its core number differs from the root's only below bit s. Then its partner knows, too; so each rank
    //     of phase 3 learns it in the step of its highest differing bit, where it leaves.
    // (2) Nobody reads what phase 3 stores: the rank that stores a range has combined the root's operand, got
    //     through the rank that read that part of the root's array.
    void piece(Port& port, const Operator& op, int root, PieceArrays a) {
      const Fold& fold = halving_.fold;
      Shown<Port>& shown = halving_.shown;
      const int side = fold.steps();
      const Data buffer = halving_.scratch.get(port, 0);
      if (rank_ != root) {
        a.receive = buffer;
        a.receive_direct = true;
      }
      if (fold.folded(rank_)) return load_store_folded(port, shown, side, a, buffer, rank_ + 1);
      Data home = a.receive_direct ? a.receive : buffer;
      Data mine = a.send;
      const bool stands_for_root = fold.carries(rank_) && rank_ - 1 == root;
      if (fold.carries(rank_)) {
        const ShownPlaces aside = shown.look(port, rank_ - 1, side, a.number);
        if (stands_for_root) home = aside.write;
        port.combine(op, home, aside.read, mine, a.count);
        mine = home;
        if (!stands_for_root) shown.done(port, rank_ - 1, side, a.number);
      }
      // The bits in which this rank's core number differs from the root's.
      const auto away =
          static_cast<unsigned>(fold.core(rank_) ^ fold.core(fold.folded(root) ? root + 1 : root));
      const int halvings = halvings_of(a.bytes);
      Data result = home;
      const ElementRange range = halving_.halve(
          port, op, a, mine, home, result, halvings, [this, &port, &a, &result, away](int s, Data write) {
            if (away >> s == 1)
              result = write;
            else
              halving_.shown.done(port, halving_.step(s).peer, s, a.number);
          });
      bool left = false;
      for (int s = halvings; s < side && !left; ++s) {
        const int peer = halving_.step(s).peer;
        left = ((away >> s) & 1) != 0;
        if (left) {
          halving_.show(port, s, a, mine, home, home, range, op.element_bytes);
          shown.await_done(port, s, a.number, peer);
        } else {
          halving_.combine_shown(port, op, s, a.number, home, mine, range);
          shown.done(port, peer, s, a.number);
          mine = home;
        }
      }
      const std::size_t at = range.begin * op.element_bytes;
      if (!left) move_some(port, result + at, home + at, range.count() * op.element_bytes);
      for (int s = halvings - 1; s >= 0; --s) {
        const int peer = halving_.step(s).peer;
        if (away >> s == 1) shown.done(port, peer, s, a.number);
        shown.await_done(port, s, a.number, peer);
      }
      if (rank_ == root) move_some(port, a.receive, home, a.bytes);
      if (stands_for_root) shown.done(port, root, side, a.number);
    }

    int halvings_of(std::size_t bytes) const {
      int halvings = 0;
      while (halvings < halving_.fold.steps() && bytes >> (halvings + 1) >= least_) ++halvings;
      return halvings;
    }

    Halving<Port> halving_;
    TransferPieces pieces_;
    std::size_t least_;
    // (3) No place is written or given up while a peer uses it: a rank that has left awaits `done` from each
    //     peer to which it showed a place.
    // (4) The rank that leaves in a step signals once, for both: it has read, and all that it and those that
    //     told it have is stored. Any other says at once that it has read.
    int rank_;
  };
};

}  // namespace phicoll
