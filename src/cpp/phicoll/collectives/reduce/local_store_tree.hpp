#pragma once

// Local-store-based tree reduce. Source: velamati-2007 section 3.4 ("TREE"), the reverse of its broadcast:
// for each piece a rank brings its operand from memory into its local store, fetches each child's result from
// the child's local store, combines the two, and after all children tells its parent that the piece is there.
// Results lie in main memory only on the root. Four buffers a rank: two for each operand of the combination,
// because of double buffering; with buffers=1, one for each operand.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/broadcast/rank_tree.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/collectives/reduce/tree_pieces.hpp"
#include "phicoll/collectives/transport/trailing.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

// The tree is the paper's "tree of degree k": k-nomial (each informed rank informs k - 1 others a phase,
// reversed), degree 1 the pipeline of all ranks. Ranks are numbered from the root on and subtrees are not
// contiguous: the operator must be commutative, as the paper says.
//
// operand=copied fetches a child's piece before it is combined, as the paper's machine had to; direct
// combines it where it lies, into the root's receive buffer.
struct LocalStoreTreeReduce : AlgorithmDefaults {
  enum class Operand : unsigned char { copied, direct };

  struct Parameters {
    int degree = 3;
    int piece = 8192;
    int buffers = 2;
    Operand operand = Operand::copied;
    Trailing trailing = Trailing::none;
  };

  static AlgorithmFacts facts() {
    return {"local-store-tree", Origin::paper, "velamati-2007 section 3.4 (TREE)",
            "pieces combined up a k-nomial tree through double-buffered local stores"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("degree", p.degree, 1, max_ranks,
                    "factor by which the ranks reached grow in a phase; 1 is the pipeline");
    visitor.integer("piece", p.piece, max_element_bytes, 1 << 20, "bytes of each of a rank's buffers");
    visitor.integer("buffers", p.buffers, 1, 2, "a rank's buffers for each operand of a combination");
    visitor.choice("operand", p.operand, {"copied", "direct"},
                   "a child's piece is fetched into an own buffer first, or combined where it lies");
    describe_trailing(visitor, p.trailing);
  }

  static void limit(Parameters& p, const Shape& shape) { limit_growth(p.degree, shape); }
  static const char* unfit(const Parameters&, const Shape&, const CallFacts& facts) {
    return facts.commutative ? nullptr : "a commutative operator: subtrees are not in rank order";
  }

  struct Flags {
    Strided<CounterLine> ready;
    Strided<CounterLine> taken[2];
  };

  static std::size_t rank_bytes(const Parameters& p) {
    return sizeof(Flags) +
           2 * static_cast<std::size_t>(p.buffers) * arch::whole_strides(static_cast<std::size_t>(p.piece));
  }
  static std::size_t barrier_at(const Parameters& p, const Shape& shape) {
    return static_cast<std::size_t>(shape.size()) * rank_bytes(p);
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return barrier_at(p, shape) + trailing_footprint(p.trailing, shape);
  }

  template <class Port>
  class Rank : private TreePieces<Port> {
    using Base = TreePieces<Port>;
    using Base::block;
    using Base::children_;
    using Base::rank_;
    using Base::step_;

   public:
    Rank(const Parameters& p, const Setup& setup)
        : Base(setup, static_cast<std::size_t>(p.piece), rank_bytes(p)),
          p_(p),
          buffers_(static_cast<std::uint64_t>(p.buffers)),
          tree_(k_nomial_tree(setup.size(), p.degree)),
          barrier_(p.trailing, setup, barrier_at(p, setup.shape)) {}

    // A rank alone writes its line `ready` and its buffers for results and for a child's pieces, `buffers` of
    // each; its parent reads `ready` and the results, and writes `taken`, which lies with the child. Step t
    // (piece t, over all calls, alike on all ranks) uses result buffer t mod `buffers`.
    //
    // (1) `ready` = t + 1 (release) follows the result: a rank that sees it (acquire) sees the result of step
    //     t.
    void operator()(Port& port, const Call& call) {
      this->each_piece(
          port, call, [this](int) { turn(); },
          [&](std::size_t at, std::size_t count) {
            if (p_.operand == Operand::copied)
              copied(port, call, at, count);
            else
              direct(port, call, at, count);
          });
      if (this->ranks_ != 1) barrier_(port);
    }

   private:
    void turn() {
      const int node = this->node();
      // The rank that is reached last has the smallest subtree and is ready first.
      std::vector<int> nodes(tree_.begin(node), tree_.end(node));
      std::reverse(nodes.begin(), nodes.end());
      this->take_children(std::move(nodes));
    }

    void copied(Port& port, const Call& call, std::size_t at, std::size_t count) {
      const std::size_t bytes = count * call.op.element_bytes;
      const Data result = free_result(port);
      port.move(result, call.send + at, bytes);
      std::uint64_t turn = 0;
      for (const int child : children_) {
        const Data operand = port.shared(buffer(rank_, buffers_ + turn++ % buffers_));
        port.move(operand, await(port, child), bytes);
        taken(port, child);
        port.combine(call.op, result, result, operand, count);
      }
      if (rank_ == call.root)
        port.move(call.receive + at, result, bytes);
      else
        give(port);
    }

    void direct(Port& port, const Call& call, std::size_t at, std::size_t count) {
      const bool is_root = rank_ == call.root;
      const Data result = is_root ? call.receive + at : free_result(port);
      this->combine_children(
          port, call, at, count, result, [&](int child) { return await(port, child); },
          [&](int child) { taken(port, child); });
      if (!is_root) give(port);
    }

    Data free_result(Port& port) {
      const std::uint64_t slot = step_ % buffers_;
      if (given_[slot] != 0) port.wait(flags(rank_).taken[slot].value.word, at_least(given_[slot]));
      return port.shared(buffer(rank_, slot));
    }
    void give(Port& port) {
      given_[step_ % buffers_] = step_ + 1;
      port.signal(flags(rank_).ready.value.word, step_ + 1);
    }
    Data await(Port& port, int child) {
      port.wait(flags(child).ready.value.word, at_least(step_ + 1), child);
      return port.shared(buffer(child, step_ % buffers_));
    }
    // (2) `taken` = t + 1 (release) follows the parent's last read. The child, which remembers the last step
    //     that it gave from this buffer, waits for that number (acquire) before it writes there again.
    //     Meanwhile that step's parent alone writes `taken`, so the root may change from call to call.
    //
    // Numbers only grow, and no barrier follows the call. The paper's implementation had one (section 4 ii:
    // "can be avoided by using counters"): trailing=barrier.
    void taken(Port& port, int child) {
      port.signal(flags(child).taken[step_ % buffers_].value.word, step_ + 1);
    }

    Flags& flags(int rank) const { return *reinterpret_cast<Flags*>(block(rank)); }
    unsigned char* buffer(int rank, std::uint64_t which) const {
      return block(rank) + sizeof(Flags) +
             static_cast<std::size_t>(which) * arch::whole_strides(static_cast<std::size_t>(p_.piece));
    }

    Parameters p_;
    std::uint64_t buffers_;
    RankTree tree_;
    TrailingBarrier<Port> barrier_;
    std::uint64_t given_[2] = {0, 0};
  };
};

}  // namespace phicoll
