#pragma once

// Flat broadcast of large messages. Source: ramos-hoefler-2013 section 4.1.3: the root announces its buffer,
// all others copy the whole message from it, so that hardware prefetching serves all of it, and acknowledge
// in a line apart from the announcement; the root returns when all have. Only the address goes through the
// header, however small the message: otherwise this is `flat`.
//
// The acknowledgement's release after the last load of a copy, and the root's acquire, keep the root's buffer
// unchanged while it is read; see tree_passing.hpp for the rest, and for a root whose buffer the others can't
// reach.

#include "phicoll/collectives/broadcast/tree_passing.hpp"

namespace phicoll {

struct FlatLargeBroadcast : AlgorithmDefaults {
  struct Parameters {
    Acknowledgement ack = Acknowledgement::counter;
    int piece = 16384;
    int buffers = 2;
  };

  static AlgorithmFacts facts() {
    return {"flat-large", Origin::paper, "ramos-hoefler-2013 section 4.1.3",
            "all ranks copy the whole message from the root's buffer at the same time"};
  }
  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.choice("ack", p.ack, {"counter", "line-per-child"},
                   "all acknowledge in one line, or each in a line of its own");
    visitor.integer("piece", p.piece, 64, 1 << 20,
                    "bytes of a piece where the root's buffer cannot be reached");
    visitor.integer("buffers", p.buffers, 1, 64, "pieces that the root may be ahead then");
  }
  static void limit(Parameters& p, const Shape& shape) { limit_piece(p.piece, p.buffers, shape.size()); }
  static TreePassing rules(const Parameters& p) {
    TreePassing rules;
    rules.small_in_header = false;
    rules.ack = p.ack;
    rules.piece = p.piece;
    rules.cells = p.buffers;
    return rules;
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) { return rules(p).footprint(shape); }

  template <class Port>
  class Rank : public TreePassingRank<Port> {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : TreePassingRank<Port>(rules(p), flat_tree(setup.size()), setup) {}
  };
};

}  // namespace phicoll
