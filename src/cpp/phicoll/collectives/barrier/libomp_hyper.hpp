#pragma once

// The structure of LLVM OpenMP's hyper barrier (kmp_barrier.cpp), written anew from its description: arrivals
// go up a hypercube-embedded tree, releases come down another, 2^bits siblings a level. In each level the
// rank whose digit (of `bits` bits) is zero gathers its siblings and goes on; the others tell it and wait.
// libomp's plain barrier takes 2 and 2 bits, on Knights Corner 3 and 2.
//
// Each rank has an arrival line, written by it and read by its gatherer, and a go line, written by its
// releaser. libomp resets the go flag; here both hold growing episode numbers.

#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

struct LibompHyper : AlgorithmDefaults {
  static constexpr int most_bits = 10;  // 2^10 ranks

  struct Parameters {
    int gather_bits = 2;
    int release_bits = 2;
    StorePolicy store = StorePolicy::plain;
  };

  static AlgorithmFacts facts() {
    return {"libomp-hyper", Origin::phicoll, "LLVM OpenMP runtime, hyper barrier (structure)",
            "trees embedded in a hypercube: 2^gather_bits siblings meet a level, 2^release_bits part"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("gather_bits", p.gather_bits, 1, most_bits,
                    "log2 of the siblings that meet in a level; libomp 2, on Knights Corner 3");
    visitor.integer("release_bits", p.release_bits, 1, most_bits,
                    "log2 of the siblings that are released in a level; libomp 2");
    describe_store(visitor, p.store);
  }

  static void limit(Parameters& p, const Shape& shape) {
    const int useful = shape.size() > 1 ? ceil_log(2, shape.size()) : 1;
    if (p.gather_bits > useful) p.gather_bits = useful;
    if (p.release_bits > useful) p.release_bits = useful;
  }

  using Lines = StridedLines<SoleWriterLine<std::uint64_t>>;
  static std::size_t footprint(const Parameters&, const Shape& shape) {
    return 2 * Lines::bytes(shape, shape.size());
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : arrived_(setup, 0),
          go_(setup, Lines::bytes(setup.shape, setup.size())),
          rank_(setup.rank),
          releaser_(parent(setup.rank, p.release_bits)),
          store_(p.store) {
      gather_ = children(setup.rank, setup.size(), p.gather_bits);
      // The highest level first: those have the deepest trees below them.
      const AlignedVector<int> up = children(setup.rank, setup.size(), p.release_bits);
      release_.assign(up.rbegin(), up.rend());
    }

    void operator()(Port& port) {
      ++episode_;
      for (const int child : gather_) port.wait(arrived_[child].word, at_least(episode_), child);
      if (rank_ != 0) {
        // Passes what the whole subtree wrote, acquired above, on to the gatherer; the go line brings back
        // what all wrote.
        port.signal(arrived_[rank_], episode_, store_);
        port.wait(go_[rank_].word, at_least(episode_), releaser_);
      }
      for (const int child : release_) port.signal(go_[child], episode_, store_);
    }

   private:
    /// The bit position of the lowest digit that is not zero; rank is not 0.
    static int level_of(int rank, int bits) {
      int level = 0;
      while ((rank >> level & ((1 << bits) - 1)) == 0) level += bits;
      return level;
    }
    static int parent(int rank, int bits) {
      if (rank == 0) return any_rank;
      const int above = level_of(rank, bits) + bits;
      return rank >> above << above;
    }
    /// By level, lowest first, and by rank within a level.
    static AlignedVector<int> children(int rank, int size, int bits) {
      AlignedVector<int> list;
      const int top = rank == 0 ? 31 : level_of(rank, bits);
      for (int level = 0; level < top && (1 << level) < size; level += bits)
        for (int sibling = 1; sibling < 1 << bits; ++sibling) {
          const int child = rank + (sibling << level);
          if (child < size) list.push_back(child);
        }
      return list;
    }

    Lines arrived_;
    Lines go_;
    std::uint64_t episode_ = 0;
    AlignedVector<int> gather_;
    AlignedVector<int> release_;
    int rank_;
    int releaser_;
    StorePolicy store_;
  };
};

}  // namespace phicoll
