#pragma once

// phicoll's broadcast through the levels of a machine. The root gives each piece to its part (the ranks that
// share a CPU, a core, a cache, a memory node or a package); its leader gives it to its part among leaders,
// and so on. A rank that gets a piece from above or from a neighbour gives it to the parts that it leads, the
// largest first. Each part has a ring, whose writer continues while its readers still read, so levels work on
// different pieces at the same time. A line crosses between parts once.

#include <algorithm>
#include <cstdint>

#include "phicoll/collectives/broadcast/level_rings.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/limits.hpp"
#include "phicoll/collectives/structure/hierarchy.hpp"

namespace phicoll {

struct HierarchicalBroadcast : AlgorithmDefaults {
  struct Parameters {
    Grouping group = Grouping::l3;  // a stage more is a copy more on the way down: docs/collectives.md
    int piece = 16384;
    int pieces = 16;
  };

  static AlgorithmFacts facts() {
    return {
        "hierarchical", Origin::phicoll, "phicoll",
        "rings within the parts of the machine and between their leaders, level by level, piece by piece"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_grouping(visitor, p.group);
    visitor.integer("piece", p.piece, 64, 1 << 20, "bytes of a piece");
    visitor.integer("pieces", p.pieces, 2, 4096, "pieces that a ring holds");
  }

  static void limit(Parameters& p, const Shape& shape) {
    constexpr std::size_t most = most_buffers / 2;
    const Hierarchy levels(shape, p.group);
    const auto bytes = [&] { return footprint(p, levels); };
    limit_bytes(p.pieces, 2, bytes, most);
    limit_bytes(p.piece, 64, bytes, most);
  }
  static std::size_t footprint(const Parameters& p, const Hierarchy& levels) {
    return level_rings_footprint(level_ring(p.piece, p.pieces), levels, levels.top() + 1);
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return footprint(p, Hierarchy(shape, p.group));
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : levels_(setup.shape, p.group),
          rings_(level_ring(p.piece, p.pieces), levels_, levels_.top() + 1, setup, 0),
          piece_(static_cast<std::size_t>(p.piece)),
          rank_(setup.rank) {}

    // No waits form a circle:
    //
    // (1) A rank other than the root awaits a piece once; later it only writes it. It awaits the writer's
    //     publishing, which comes after the writer, nearer to the root, got the piece.
    // (2) A writer waits until its readers have finished earlier pieces. (A ring holds at least two, with
    //     acknowledgements every half of them.)
    // (3) So each wait is for something of an earlier piece, of the same piece nearer to the root, or earlier
    //     in the same rank's order.
    void operator()(Port& port, const Call& call) {
      // From the first stage at which the root's chain comes to this rank's part, all parts of this rank are
      // the chain's: one that leads such a part is the chain's next.
      int met = 0;
      while (met < rings_.stages() && levels_.part_of(met, rank_) != levels_.part_of(met, call.root)) ++met;
      Call piece = call;
      for (std::size_t at = 0; at < call.count; at += piece_) {
        piece.receive = call.receive + at;
        piece.count = std::min(piece_, call.count - at);
        for (int stage = met; stage < rings_.stages(); ++stage) {
          piece.root = levels_.place_of(stage, call.root);
          rings_.pass(port, stage, piece);
        }
        rings_.pass_down(port, met, piece);
      }
    }

   private:
    Hierarchy levels_;
    LevelRings<Port> rings_;
    std::size_t piece_;
    int rank_;
  };
};

}  // namespace phicoll
