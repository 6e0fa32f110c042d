#pragma once

// What the trees of ramos-hoefler-2013 section 4.1 and figure 4.4 have in common; they differ only in their
// form. A parent announces a message in its own header line: small ones (48 bytes) lie in the line itself,
// for larger ones it gives the address of its buffer, from which all its children copy at once
// ("receiver-driven", "zero-copy protocol", sections 4.1 and 4.1.1). Then the children acknowledge, in one
// line for all or in a line each, apart from the header so as not to disturb others' copies. Visibility:
// tree_passing.hpp.

#include <utility>

#include "phicoll/collectives/broadcast/tree_passing.hpp"

namespace phicoll {

struct ReceiverTree {
  enum class Driven : unsigned char { receiver, sender };
  enum class Complete : unsigned char { subtree, children };

  Driven driven = Driven::receiver;
  Acknowledgement ack = Acknowledgement::counter;
  Complete complete = Complete::subtree;
  YesNo occupied = YesNo::no;
  int piece = 16384;
  int buffers = 2;

  template <class Visitor>
  void describe(Visitor& visitor) {
    visitor.choice("driven", driven, {"receiver", "sender"},
                   "who copies: children from the parent, or the parent into each child's header or cells");
    visitor.choice("ack", ack, {"counter", "line-per-child"},
                   "children acknowledge in one line for all, or each in a line of its own");
    visitor.choice("complete", complete, {"subtree", "children"},
                   "acknowledged when all below have the message, up to the root, or when the rank has it");
    describe_yes_no(
        visitor, "occupied", occupied,
        "the root sets a global flag first (the first R_I of equation 4.6) and clears it at the end");
    visitor.integer("piece", piece, 64, 1 << 20, "bytes of a piece where data goes through cells");
    visitor.integer("buffers", buffers, 1, 64, "cells of a rank");
  }
  void limit(const Shape& shape) { limit_piece(piece, buffers, shape.size()); }
  const char* refuse() const {
    return driven == Driven::sender && ack == Acknowledgement::counter
               ? "ack=line-per-child with driven=sender: a rank's line says that its header is free"
               : nullptr;
  }
  TreePassing rules() const {
    TreePassing rules;
    rules.header_at_child = rules.cells_at_child = driven == Driven::sender;
    rules.own_buffer = driven == Driven::receiver;
    rules.subtree = complete == Complete::subtree;
    rules.occupied = occupied == YesNo::yes;
    rules.ack = ack;
    rules.piece = piece;
    rules.cells = buffers;
    return rules;
  }
};

/// An algorithm that is nothing but the tree that `Algorithm::tree(parameters, ranks)` gives.
template <class Algorithm>
struct ReceiverTreeAlgorithm : AlgorithmDefaults {
  template <class P>
  static void limit(P& p, const Shape& shape) {
    p.tree.limit(shape);
  }
  template <class P>
  static const char* refuse(const P& p) {
    return p.tree.refuse();
  }
  template <class P>
  static std::size_t footprint(const P& p, const Shape& shape) {
    return p.tree.rules().footprint(shape);
  }
  // The paper's cost ends when the root knows that all have the message, with a term for each level:
  // acknowledgements go up the tree, `complete=subtree`. With `complete=children` a rank acknowledges at
  // once, and a parent looks only before it reuses its header or cells, or returns with its buffer exposed.
  // Sender-driven, the parent writes into a header or cells of each child; the child acknowledges that they
  // are free.
  template <class Port>
  class Rank : public TreePassingRank<Port> {
   public:
    template <class P>
    Rank(const P& p, const Setup& setup)
        : TreePassingRank<Port>(p.tree.rules(), Algorithm::tree(p, setup.size()), setup) {}
  };
};

}  // namespace phicoll
