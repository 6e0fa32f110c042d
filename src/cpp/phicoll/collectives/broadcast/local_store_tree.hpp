#pragma once

// Pieces from buffer to buffer down a tree. Source: velamati-2007 section 3.3 ("TREE", local store based
// tree): the root brings a piece into its own buffer and tells its children the index of the latest piece;
// each child fetches it into its own buffer, acknowledges, tells its children, and puts the piece into its
// application's memory. Two buffers a rank: one is filled while the other is read, and reused when all
// children have acknowledged. In each phase of the tree every informed rank informs degree - 1 others; degree
// 1 is a chain, "pipelined".

#include "phicoll/collectives/broadcast/tree_passing.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/memory/control.hpp"

namespace phicoll {

// On the Cell a rank's buffers are its local store, 2 x 16 KB (4 KB did as well); here they lie in shared
// memory, where they stay in the caches of the few ranks that use them. The metadata entry that a parent
// writes on a child is a line here; `small=header` puts messages of 48 bytes into it (the paper's section 4
// (i) considers that). Visibility: tree_passing.hpp.
struct LocalStoreTreeBroadcast : AlgorithmDefaults {
  enum class Small : unsigned char { buffer, header };

  struct Parameters {
    int degree = 3;
    int piece = 16384;
    int buffers = 2;
    Small small = Small::buffer;
    Trailing trailing = Trailing::none;
  };

  static AlgorithmFacts facts() {
    return {"local-store-tree", Origin::paper, "velamati-2007 section 3.3",
            "pieces go down a tree from buffer to buffer, acknowledged; degree 1 is a pipeline"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("degree", p.degree, 1, max_ranks,
                    "factor by which the informed ranks grow in a phase; 1: a chain");
    visitor.integer("piece", p.piece, 64, 1 << 20, "bytes of a buffer");
    visitor.integer("buffers", p.buffers, 1, 64, "buffers of a rank");
    visitor.choice("small", p.small, {"buffer", "header"},
                   "messages of up to 48 bytes through a buffer, or in the line that announces them");
    describe_trailing(visitor, p.trailing);
  }
  static void limit(Parameters& p, const Shape& shape) {
    limit_growth(p.degree, shape);
    limit_piece(p.piece, p.buffers, shape.size());
  }
  static TreePassing rules(const Parameters& p) {
    TreePassing rules;
    rules.header_at_child = true;
    rules.own_buffer = false;
    rules.small_in_header = p.small == Small::header;
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
