#pragma once

// Tree reduce, reconstructed. panigrahi-2014 section VI measured a reduce but says of it only that the
// authors "lack space to describe" it. This is what its broadcast (section V: a shared region for data and
// one for notification, flags set by the rank that has data and unset by the one that has copied it, double
// buffering above the region's size) and its barriers (heap trees, degree 6) suggest: each rank combines what
// its children have with its own operand into its own data region, and sets the flag of that half.

#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/collectives/reduce/tree_pieces.hpp"
#include "phicoll/collectives/structure/heap_tree.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

struct TreeReconstructedReduce : AlgorithmDefaults {
  struct Parameters {
    int degree = 6;
    int region = 32768;
  };

  static AlgorithmFacts facts() {
    return {"tree-reconstructed", Origin::paper,
            "panigrahi-2014 section VI, which does not describe it: reconstructed",
            "combined up a heap tree through double-buffered shared regions, flags set and unset"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("degree", p.degree, 2, max_ranks, "children of a rank in the heap tree");
    visitor.integer("region", p.region, 2 * max_element_bytes, 1 << 21,
                    "bytes of a rank's data region, used in two halves");
  }

  // A region for each rank, where the broadcast has one.
  static void limit(Parameters& p, const Shape& shape) {
    limit_heap_degree(p.degree, shape.size());
    limit_bytes(p.region, 2 * max_element_bytes, [&] { return footprint(p, shape); });
  }
  static const char* unfit(const Parameters&, const Shape&, const CallFacts& facts) {
    return facts.commutative ? nullptr : "a commutative operator: subtrees are not in rank order";
  }

  struct alignas(arch::stride_bytes) Flags {
    Word<std::uint64_t> half[2];
  };

  static std::size_t half(const Parameters& p) { return static_cast<std::size_t>(p.region) / 2; }
  static std::size_t rank_bytes(const Parameters& p) {
    return sizeof(Flags) + 2 * arch::whole_strides(half(p));
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return static_cast<std::size_t>(shape.size()) * rank_bytes(p);
  }

  template <class Port>
  class Rank : private TreePieces<Port> {
    using Base = TreePieces<Port>;
    using Base::block;
    using Base::children_;
    using Base::rank_;
    using Base::step_;

   public:
    Rank(const Parameters& p, const Setup& setup) : Base(setup, half(p), rank_bytes(p)), p_(p) {}

    // A rank owns a data region in two halves and a line with a flag for each. Step t
    // (a piece of half a region) uses half t mod 2. Children of node n
    // are k n + 1 to k n + k, nodes counted from the root on: the operator must commute.
    void operator()(Port& port, const Call& call) {
      this->each_piece(
          port, call,
          [this](int) { this->take_children(heap_children(this->ranks_, p_.degree, this->node())); },
          [&](std::size_t at, std::size_t count) { piece(port, call, at, count); });
    }

   private:
    // (1) A rank alone writes its region; its parent reads it. The rank sets the flag (release) after the
    //     data; its parent, having read, unsets it (release); the rank awaits that (acquire) before it writes
    //     the half again.
    // (2) Set means the step's number plus one, unset zero: with a bare bit, a parent in a later call with
    //     another root could take what is meant for the last call's parent.
    void piece(Port& port, const Call& call, std::size_t at, std::size_t count) {
      const bool is_root = rank_ == call.root;
      Word<std::uint64_t>& own_flag = flag(rank_);
      if (!is_root) port.wait(own_flag, equal(std::uint64_t{0}));
      const Data result = is_root ? call.receive + at : port.shared(data(rank_));
      this->combine_children(
          port, call, at, count, result,
          [&](int child) {
            port.wait(flag(child), equal(step_ + 1), child);
            return port.shared(data(child));
          },
          [&](int child) { port.signal(flag(child), std::uint64_t{0}); });
      if (!is_root) port.signal(own_flag, step_ + 1);
    }

    Word<std::uint64_t>& flag(int rank) const {
      return reinterpret_cast<Flags*>(block(rank))->half[step_ & 1];
    }
    unsigned char* data(int rank) const {
      return block(rank) + sizeof(Flags) +
             static_cast<std::size_t>(step_ & 1) * arch::whole_strides(half(p_));
    }

    Parameters p_;
  };
};

}  // namespace phicoll
