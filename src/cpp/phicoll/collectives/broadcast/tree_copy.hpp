#pragma once

// Send and receive down a tree, one copy a receiver. Source: velamati-2007 section 3.3 ("TREEMM"): the tree
// of the paper's barrier carries, beside the flag, where the sender's application data lies; a receiver
// copies from there into its own memory and then sends to its children in turn. Degree 3 was best there or
// close to it, 2 the worst or close.
//
// A parent returns only when its children have acknowledged, since they read its own buffer. A parent whose
// buffer its children cannot reach says so and passes pieces through two buffers in shared memory.
// Visibility: tree_passing.hpp.

#include "phicoll/collectives/broadcast/tree_passing.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/memory/control.hpp"

namespace phicoll {

struct TreeCopyBroadcast : AlgorithmDefaults {
  struct Parameters {
    int degree = 3;
    int piece = 16384;
    int buffers = 2;
    Trailing trailing = Trailing::none;
  };

  static AlgorithmFacts facts() {
    return {"tree-copy", Origin::paper, "velamati-2007 section 3.3",
            "children copy from their parent's own memory, down a tree"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("degree", p.degree, 1, max_ranks,
                    "factor by which the informed ranks grow in a phase; 1: a chain");
    visitor.integer("piece", p.piece, 64, 1 << 20,
                    "bytes of a piece where a parent's memory cannot be reached");
    visitor.integer("buffers", p.buffers, 1, 64, "pieces that a parent may be ahead then");
    describe_trailing(visitor, p.trailing);
  }
  static void limit(Parameters& p, const Shape& shape) {
    limit_growth(p.degree, shape);
    limit_piece(p.piece, p.buffers, shape.size());
  }
  static TreePassing rules(const Parameters& p) {
    TreePassing rules;
    rules.header_at_child = true;
    rules.small_in_header = false;
    rules.piece = p.piece;
    rules.cells = p.buffers;
    rules.trailing = p.trailing;
    return rules;
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) { return rules(p).footprint(shape); }

  template <class Port>
  class Rank : public TreePassingRank<Port> {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : TreePassingRank<Port>(rules(p), k_nomial_tree(setup.size(), p.degree), setup) {}
  };
};

}  // namespace phicoll
