#pragma once

// phicoll's allreduce through the levels of a machine. The ranks of a part (those that share a CPU, a core, a
// cache, a memory node or a package) send their operands to its leader, which combines them and sends the
// result to the leader of its part among leaders, and so on. The ranks at the top exchange theirs, and the
// result comes down the same way, piece by piece. A rank n stages below the top sends n pieces up before the
// first result comes, so that each stage has one to work on while the top exchanges.

#include <cstdint>
#include <memory>

#include "phicoll/collectives/allreduce/one_shot.hpp"
#include "phicoll/collectives/broadcast/level_rings.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/collectives/structure/hierarchy.hpp"
#include "phicoll/collectives/transport/level_operands.hpp"

namespace phicoll {

// Operands are combined as LevelOperands says, those at the top in rank order: the same brackets on every
// rank and in every run. For an operator that does not commute, the ranks of each part have to be
// consecutive.
//
// Data that all ranks reach may stay where it lies (direct.hpp): the operand of a rank that leads no part,
// and a leader's result, which those below it copy. A rank may store the result of a piece over its operand:
// the result depends on it, so its leader has read it.
struct HierarchicalAllreduce : AlgorithmDefaults {
  struct Parameters {
    Grouping group = Grouping::nested;
    int piece = 16384;
    int pieces = 8;
    DirectParameters direct;
  };

  static AlgorithmFacts facts() {
    return {"hierarchical", Origin::phicoll, "phicoll",
            "to the leader of each part of the machine, level by level, between those at the top, and back, "
            "piece by piece"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_grouping(visitor, p.group);
    visitor.integer("piece", p.piece, max_element_bytes, 1 << 20, "bytes of a piece");
    visitor.integer("pieces", p.pieces, 2, 4096, "pieces that a rank may be ahead");
    visitor.integer(
        "direct", p.direct.from, 0, most_direct,
        "bytes from which data that all ranks reach is combined, and copied, where it lies; 0: never");
  }

  static const char* unfit(const Parameters& p, const Shape& shape, const CallFacts& facts) {
    return unfit_for_order(p.group, shape, facts);
  }

  static void limit(Parameters& p, const Shape& shape) {
    constexpr std::size_t most = most_buffers / 2;
    const Hierarchy levels(shape, p.group);
    const auto bytes = [&] { return footprint(p, levels); };
    limit_bytes(p.pieces, 2, bytes, most);
    limit_bytes(p.piece, max_element_bytes, bytes, most);
  }

  static OneShotAllreduce::Parameters between(const Parameters& p) {
    OneShotAllreduce::Parameters between;
    between.cell = p.piece;
    between.cells = p.pieces;
    return between;
  }
  /// The mailbox, then the exchange at the top, then the rings of the stages below it.
  static std::size_t exchange_at(const Parameters& p, const Hierarchy& levels) {
    if (levels.top() == 0) return 0;
    return mailbox_footprint(levels.ranks(), p.pieces, static_cast<std::size_t>(p.piece));
  }
  static std::size_t rings_at(const Parameters& p, const Hierarchy& levels) {
    return exchange_at(p, levels) +
           OneShotAllreduce::footprint(between(p), static_cast<int>(levels.leaders().size()));
  }
  static std::size_t footprint(const Parameters& p, const Hierarchy& levels) {
    return rings_at(p, levels) + level_rings_footprint(level_ring(p.piece, p.pieces), levels, levels.top());
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return footprint(p, Hierarchy(shape, p.group));
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : levels_(setup.shape, p.group),
          up_(levels_, setup, 0, p.pieces, static_cast<std::size_t>(p.piece), p.direct),
          down_(level_ring(p.piece, p.pieces), levels_, levels_.top(), setup, rings_at(p, levels_)),
          direct_(p.direct) {
      if (!up_.at_top()) return;
      const Shape leaders = Hierarchy::part_shape(setup.shape, levels_.leaders());
      between_.reset(new OneShotAllreduce::Rank<Port>(
          between(p), Setup{levels_.place_of(levels_.top(), setup.rank), leaders,
                            setup.memory + exchange_at(p, levels_), levels_.leaders().data()}));
    }

    // No waits form a circle. K is the most pieces that any rank is ahead. A rank that is `a` pieces ahead
    // sends piece m in round m + K - a, the ranks below it first. Round m + K ends with the top's exchange of
    // piece m, and its result coming down. Every wait is for something earlier:
    //
    // (1) A rank that sends piece m has the results up to m - 1 - a, of the round before. It awaits operands
    //     of ranks below, at least as far ahead: of this or an earlier round.
    void operator()(Port& port, const Call& call) {
      const auto pieces = up_.pieces(call);
      const bool direct = !up_.at_top() && up_.direct(port, call);
      const bool stays = direct_(port, call.receive, call.bytes(), call.bytes());
      std::size_t sent = 0;
      for (std::size_t m = 0; m < pieces.count(); ++m) {
        if (!up_.at_top())
          for (; sent < pieces.count() && sent <= m + up_.ahead(); ++sent) {
            if (direct)
              up_.send_direct(port, pieces[sent], sent);
            else
              up_.send(port, pieces[sent], sent, up_.above());
          }
        Call piece = pieces[m];
        if (up_.at_top()) {
          piece.send = up_.gather(port, piece, m, piece.receive);
          (*between_)(port, piece);
        }
        Call result;
        result.receive = piece.receive;
        result.count = piece.bytes();
        result.tag = call.tag;
        down_.pass_down(port, down_.stages(), result, stays);
      }
      down_.settle(port);
      up_.settle(port);
      up_.next_call(pieces.count());
    }

   private:
    // (2) It awaits that the rank above, ahead by b, has taken piece m - `pieces` out of the cell, in round m
    //     - `pieces` + K - b. That is earlier, as a - b < `pieces`: no rank is ahead by as many pieces as
    //     there are cells. (A rank may stand directly below the top: stages need not differ by one piece.)
    // (3) A result awaits the one above it, of the same round but nearer to the top, and the ring's readers
    //     of earlier pieces.
    Hierarchy levels_;
    LevelOperands<Port> up_;
    LevelRings<Port> down_;
    Direct direct_;
    std::unique_ptr<OneShotAllreduce::Rank<Port>> between_;
  };
};

}  // namespace phicoll
