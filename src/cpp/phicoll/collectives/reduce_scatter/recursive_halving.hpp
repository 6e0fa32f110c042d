#pragma once

// Reduce-scatter by recursive halving, for operators that commute: in each of floor(lg P) steps, at half the
// distance of the last, a rank gives its partner the half of its blocks that belong to the partner's side,
// and combines the other half with what it gets. Each step sends half as many bytes: the algorithm for short
// blocks. Source: Rabenseifner: Optimization of collective reduction operations (2004), his allreduce's first
// phase. Numbers of ranks other than powers of two fold as in namashivayam-2014 section 5.1.2; a core rank
// ends with the blocks of both ranks that it stands for.

#include <cstdint>

#include "phicoll/collectives/reduce_scatter/block_pieces.hpp"
#include "phicoll/collectives/transport/transfer.hpp"

namespace phicoll {

struct RecursiveHalvingReduceScatter : AlgorithmDefaults {
  struct Parameters {
    int buffer = default_piece_bytes;
  };

  static AlgorithmFacts facts() {
    return {"recursive-halving", Origin::phicoll, "Rabenseifner 2004, reduce-scatter phase",
            "pairs at halving distances exchange and combine half of their blocks"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("buffer", p.buffer, max_element_bytes, 1 << 24, "bytes of a portion of all blocks");
  }
  static const char* unfit(const Parameters&, const Shape&, const CallFacts& facts) {
    return facts.commutative ? nullptr : "a commutative operator: partners are not neighbours";
  }
  static void limit(Parameters& p, const Shape& shape) {
    limit_buffer(p.buffer, shape.size(), 2 * (Fold(shape.size()).steps() + 1) + 2);
  }
  // Uneven blocks may all lie on one side, so every box takes a whole portion.
  static std::vector<std::size_t> capacities(const Parameters& p, int ranks) {
    return std::vector<std::size_t>(static_cast<std::size_t>(Fold(ranks).steps()) + 1,
                                    static_cast<std::size_t>(p.buffer));
  }
  static std::size_t boxes_footprint(const Parameters& p, int ranks) {
    return put_boxes_footprint(ranks, capacities(p, ranks), 2, Credit::implied);
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return boxes_footprint(p, shape.size()) +
           ScratchBuffers::footprint(shape.size(), static_cast<std::size_t>(p.buffer));
  }

  // Distances fall, so combined values belong to ranges that are not neighbours; but brackets are the same in
  // every run, the lower rank's value on the left.
  //
  // (1) Portions of all blocks (block_pieces.hpp) are packed into the rank's own buffer and combined there.
  //     Halves go into the partner's boxes, one per step, two cells deep.
  // (2) The publishing store (release) makes what precedes it visible to the rank that awaits it (acquire).
  // (3) No acknowledgements: the result has something of everyone's and all exchange in every step, so a rank
  //     ends a portion only after all have begun it (PutBoxes).
  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : fold_(setup.size()),
          boxes_(setup, 0, capacities(p, setup.size()), 2, Credit::implied),
          scratch_(setup, boxes_footprint(p, setup.size()), static_cast<std::size_t>(p.buffer)),
          at_(static_cast<std::size_t>(setup.size()) + 1),
          rank_(setup.rank),
          ranks_(setup.size()),
          bytes_(static_cast<std::size_t>(p.buffer)) {}

    void operator()(Port& port, const Call& call) {
      boxes_.begin(call);
      const std::size_t size = call.op.element_bytes;
      if (ranks_ == 1) return move_some(port, call.receive, call.send, call.block_count(0) * size);
      for_portions(call, ranks_, bytes_ / size,
                   [&](const BlockPortion& portion) { exchange(port, call, portion); });
    }

   private:
    void exchange(Port& port, const Call& call, const BlockPortion& portion) {
      const std::uint64_t n = portions_++;
      const std::size_t size = call.op.element_bytes;
      const int side = fold_.steps();
      std::size_t all = 0;
      for (int r = 0; r < ranks_; ++r) {
        at(r) = all;
        all += portion.count(call, r);
      }
      at(ranks_) = all;
      const Data result = call.receive + portion.at * size;
      const std::size_t mine = portion.count(call, rank_) * size;
      if (fold_.folded(rank_)) {
        pack(port, call, portion, boxes_.open(port, rank_ + 1, side, n));
        boxes_.publish(port, rank_ + 1, side, n);
        move_some(port, result, boxes_.await(port, rank_, side, n, rank_ + 1), mine);
        return;
      }
      const Data value = scratch_.get(port, 0);
      pack(port, call, portion, value);
      if (fold_.carries(rank_))
        combine_sides(port, call.op, value, value, boxes_.await(port, rank_, side, n, rank_ - 1), true, all);
      // Of core ranks: this rank's side has [first, end).
      int first = 0;
      int end = fold_.core_size();
      const int core = fold_.core(rank_);
      for (int s = 0; s < side; ++s) {
        const int middle = first + (end - first) / 2;
        const bool lower = core < middle;
        const int peer = fold_.rank(core ^ (end - first) / 2);
        const std::size_t given = at(fold_.first(lower ? middle : first));
        const std::size_t given_end = at(fold_.first(lower ? end : middle));
        boxes_.put(port, peer, s, n, value + given * size, (given_end - given) * size);
        (lower ? end : first) = middle;
        const std::size_t kept = at(fold_.first(first));
        const std::size_t kept_end = at(fold_.first(end));
        const Data theirs = boxes_.await(port, rank_, s, n, peer);
        const Data here = value + kept * size;
        combine_sides(port, call.op, here, here, theirs, !lower, kept_end - kept);
      }
      if (fold_.carries(rank_))
        boxes_.put(port, rank_ - 1, side, n, value + at(rank_ - 1) * size,
                   portion.count(call, rank_ - 1) * size);
      move_some(port, result, value + at(rank_) * size, mine);
    }

    void pack(Port& port, const Call& call, const BlockPortion& portion, Data to) {
      const std::size_t size = call.op.element_bytes;
      for (int r = portion.first; r < portion.end; ++r)
        move_some(port, to + at(r) * size, call.send + (call.block_at(r) + portion.at) * size,
                  portion.count(call, r) * size);
    }

    // Elements of a packed portion in front of block r's.
    std::size_t& at(int r) { return at_.data()[static_cast<std::size_t>(r)]; }

    Fold fold_;
    PutBoxes<Port> boxes_;
    ScratchBuffers scratch_;
    AlignedVector<std::size_t> at_;
    std::uint64_t portions_ = 0;
    int rank_;
    int ranks_;
    std::size_t bytes_;
  };
};

}  // namespace phicoll
