#pragma once

// phicoll's reduce through the levels of a machine. The ranks of a part (those that share a CPU, a core, a
// cache, a memory node or a package) send their operands to its leader, which combines them and sends the
// result to the leader of its part among leaders, and so on. The ranks at the top send theirs to the root
// itself, which combines them, piece by piece. A root that is not at the top sends its operand up and reads
// what comes from the top: its leader has no result to pass on.

#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/structure/hierarchy.hpp"
#include "phicoll/collectives/transport/level_operands.hpp"

namespace phicoll {

struct HierarchicalReduce : AlgorithmDefaults {
  struct Parameters {
    Grouping group = Grouping::nested;
    int piece = 8192;
    int pieces = 64;
  };

  static AlgorithmFacts facts() {
    return {
        "hierarchical", Origin::phicoll, "phicoll",
        "to the leader of each part of the machine, level by level, and from those at the top to the root"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_grouping(visitor, p.group);
    visitor.integer("piece", p.piece, max_element_bytes, 1 << 20, "bytes of a piece");
    visitor.integer("pieces", p.pieces, 2, 4096,
                    "pieces that a rank may be ahead of the leader that combines them");
  }

  static const char* unfit(const Parameters& p, const Shape& shape, const CallFacts& facts) {
    return unfit_for_order(p.group, shape, facts);
  }
  static void limit(Parameters& p, const Shape& shape) {
    limit_mailbox(shape.size(), p.pieces, p.piece, 2, rings_most);
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return mailbox_footprint(shape.size(), p.pieces, static_cast<std::size_t>(p.piece));
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup) : Rank(Hierarchy(setup.shape, p.group), p, setup) {}

    // Operands are combined as LevelOperands says, those at the top in rank order: the same brackets in every
    // run, whatever the root. For an operator that does not commute, the ranks of each part have to be
    // consecutive.
    //
    // Only the root waits for a result, and it is ahead with its own operands as ranks of an allreduce are.
    // No waits form a circle, for the reasons in allreduce/hierarchical.hpp: the root combines in the round
    // in which the top exchanges, and takes what the ranks at the top sent in earlier rounds.
    void operator()(Port& port, const Call& call) {
      const auto pieces = up_.pieces(call);
      const bool is_root = rank_ == call.root;
      const bool sends = !is_root || !up_.at_top();
      const int to = up_.at_top() ? call.root : up_.above();
      std::size_t sent = 0;
      for (std::size_t m = 0; m < pieces.count(); ++m) {
        for (; sends && sent < pieces.count() && sent <= m + up_.ahead(); ++sent)
          up_.send(port, pieces[sent], sent, to);
        if (is_root) collect(port, pieces[m], m);
      }
      up_.next_call(pieces.count());
    }

   private:
    Rank(const Hierarchy& levels, const Parameters& p, const Setup& setup)
        : up_(levels, setup, 0, p.pieces, static_cast<std::size_t>(p.piece)),
          leaders_(levels.leaders()),
          rank_(setup.rank) {}

    // The root's own part of it may lie where the result goes. So what comes before it is combined first,
    // into a peer's cell, which only the root reads now.
    void collect(Port& port, const Call& piece, std::uint64_t m) {
      const Data own = up_.at_top() ? up_.gather(port, piece, m, piece.receive) : Data();
      if (leaders_.size() == 1 && own != piece.receive) port.move(piece.receive, own, piece.bytes());
      bool taken = !up_.at_top();  // the own part, if there is one
      Data left;
      for (const int r : leaders_) {
        const Data right = r == rank_ ? own : up_.await(port, r, piece, m);
        taken = taken || r == rank_;
        if (left) {
          const Data to = taken ? piece.receive : left;
          port.combine(piece.op, to, left, right, piece.count);
          left = to;
        } else {
          left = right;
        }
      }
      for (const int r : leaders_)
        if (r != rank_) up_.finish(port, r, m);
    }

    LevelOperands<Port> up_;
    std::vector<int> leaders_;
    int rank_;
  };
};

}  // namespace phicoll
