#pragma once

// phicoll's broadcast through the levels of a machine: the root gives each piece to its part (the ranks that
// share a CPU, a core, a cache, a memory node or a package), the part's leader gives it to the other leaders,
// and those to their parts. Each of these is a ring, whose writer goes on while its readers still read, so
// the levels work on different pieces at the same time. A line is read by the ranks of one part and by the
// leaders only, and crosses between parts once for each.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "phicoll/collectives/broadcast/ring.hpp"
#include "phicoll/collectives/entries.hpp"
#include "phicoll/collectives/hierarchy.hpp"

namespace phicoll {

struct HierarchicalBroadcast : DataAlgorithm {
  struct Parameters {
    Level group = Level::l3;
    int piece = 16384;
    int pieces = 16;
  };

  static AlgorithmFacts facts() {
    return {"hierarchical", Origin::phicoll, "phicoll",
            "rings within the parts of the machine and between their leaders, piece by piece"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    describe_level(visitor, p.group);
    visitor.integer("piece", p.piece, 64, 1 << 20, "bytes of a piece");
    visitor.integer("pieces", p.pieces, 2, 4096, "pieces that a ring holds");
  }

  static RingBroadcast::Parameters ring(const Parameters& p) {
    RingBroadcast::Parameters ring;
    ring.slots = 64;  // in each part
    ring.cell = p.piece;
    ring.cells = p.pieces;
    return ring;
  }
  static void limit(Parameters& p, const Shape& shape) {
    while (p.pieces > 2 && footprint(p, shape) > std::size_t{16} << 20) p.pieces = std::max(2, p.pieces / 2);
    while (p.piece > 64 && footprint(p, shape) > std::size_t{16} << 20) p.piece /= 2;
  }
  /// The leaders' ring, then the rings of the parts.
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    const Parts parts(shape, p.group);
    std::size_t bytes = RingBroadcast::footprint(ring(p), parts.shape_of_leaders(shape));
    for (std::size_t part = 0; part < parts.count(); ++part)
      bytes += RingBroadcast::footprint(ring(p), parts.shape_of(shape, part));
    return bytes;
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : parts_(setup.shape, p.group),
          part_(static_cast<std::size_t>(parts_.of[static_cast<std::size_t>(setup.rank)])),
          piece_(static_cast<std::size_t>(p.piece)),
          rank_(setup.rank) {
      const Shape leaders = parts_.shape_of_leaders(setup.shape);
      if (parts_.leaders[part_] == rank_)
        between_.reset(new RingBroadcast::Rank<Port>(
            ring(p), Setup{static_cast<int>(part_), leaders, setup.memory, parts_.leaders.data()}));
      std::size_t at = RingBroadcast::footprint(ring(p), leaders);
      for (std::size_t part = 0; part < part_; ++part)
        at += RingBroadcast::footprint(ring(p), parts_.shape_of(setup.shape, part));
      const Shape own = parts_.shape_of(setup.shape, part_);
      within_.reset(
          new RingBroadcast::Rank<Port>(ring(p), Setup{parts_.index[static_cast<std::size_t>(rank_)], own,
                                                       setup.memory + at, parts_.members[part_].data()}));
    }

    void operator()(Port& port, const Call& call) {
      const auto root = static_cast<std::size_t>(call.root);
      const auto root_part = static_cast<std::size_t>(parts_.of[root]);
      Call piece = call;
      for (std::size_t at = 0; at < call.count; at += piece_) {
        piece.receive = call.receive + at;
        piece.count = std::min(piece_, call.count - at);
        if (part_ == root_part) {
          piece.root = parts_.index[root];
          (*within_)(port, piece);
        }
        if (between_) {
          piece.root = static_cast<int>(root_part);
          (*between_)(port, piece);
        }
        if (part_ != root_part) {
          piece.root = 0;
          (*within_)(port, piece);
        }
      }
    }

   private:
    Parts parts_;
    std::size_t part_;
    std::size_t piece_;
    int rank_;
    std::unique_ptr<RingBroadcast::Rank<Port>> between_;
    std::unique_ptr<RingBroadcast::Rank<Port>> within_;
  };
};

}  // namespace phicoll
