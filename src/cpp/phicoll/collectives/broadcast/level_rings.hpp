#pragma once

// A ring (RingBroadcast) in every part of a hierarchy, by which one rank of the part sends to the others: the
// way of pieces down the levels of a machine. A ring's writer goes on while its readers still read, so stages
// work on different pieces at the same time.
//
// Every rank takes part in each of its rings once a piece, in the order of pieces, so all count steps alike
// (Cells). A part of one rank has no ring.

#include <cstddef>
#include <memory>
#include <vector>

#include "phicoll/collectives/broadcast/ring.hpp"
#include "phicoll/collectives/structure/hierarchy.hpp"

namespace phicoll {

inline RingBroadcast::Parameters level_ring(int piece, int pieces) {
  RingBroadcast::Parameters ring;
  ring.slots = 64;  // per part
  ring.cell = piece;
  ring.cells = pieces;
  return ring;
}

/// Bytes of the rings of the first `stages` stages.
inline std::size_t level_rings_footprint(const RingBroadcast::Parameters& ring, const Hierarchy& levels,
                                         int stages) {
  std::size_t bytes = 0;
  for (int stage = 0; stage < stages; ++stage)
    for (const std::vector<int>& part : levels.parts(stage))
      if (part.size() > 1) bytes += RingBroadcast::footprint(ring, static_cast<int>(part.size()));
  return bytes;
}

template <class Port>
class LevelRings {
 public:
  /// `levels` must outlive the rings.
  LevelRings(const RingBroadcast::Parameters& ring, const Hierarchy& levels, int stages, const Setup& setup,
             std::size_t offset) {
    const int last = levels.last_stage(setup.rank);
    led_ = last;
    for (int stage = 0; stage < stages; ++stage)
      for (const std::vector<int>& part : levels.parts(stage)) {
        if (stage <= last && &part == &levels.part_around(stage, setup.rank)) {
          const Shape own = Hierarchy::part_shape(setup.shape, part);
          const int place = levels.place_of(stage, setup.rank);
          rings_.emplace_back();
          if (part.size() > 1)
            rings_.back().reset(
                new RingBroadcast::Rank<Port>(ring, Setup{place, own, setup.memory + offset, part.data()}));
        }
        if (part.size() > 1) offset += RingBroadcast::footprint(ring, static_cast<int>(part.size()));
      }
  }

  /// Broadcasts through the rank's part at a stage, from the rank at place `piece.root` in it.
  void pass(Port& port, int stage, const Call& piece) {
    RingBroadcast::Rank<Port>* const ring = rings_[static_cast<std::size_t>(stage)].get();
    if (ring != nullptr) (*ring)(port, piece);
  }
  /// Broadcasts down the stages below `stages`, from their leaders; this rank may be one. `stays`: what this
  /// rank leads down is copied from its memory, where it stays until `settle`.
  void pass_down(Port& port, int stages, Call piece, bool stays = false) {
    piece.root = 0;
    for (int stage = stages - 1; stage >= 0; --stage) {
      RingBroadcast::Rank<Port>* const ring = rings_[static_cast<std::size_t>(stage)].get();
      if (ring != nullptr && stays && stage < led_ && piece.count > sizeof(std::uint64_t))
        ring->leave(port, piece);
      else
        pass(port, stage, piece);
    }
  }
  /// Ends a call in which what a leader sends may stay in its memory.
  void settle(Port& port) {
    for (const auto& ring : rings_)
      if (ring != nullptr) ring->settle(port);
  }
  /// The number of stages that this rank is in.
  int stages() const { return static_cast<int>(rings_.size()); }

 private:
  std::vector<std::unique_ptr<RingBroadcast::Rank<Port>>> rings_;
  int led_;  // stages, from the lowest, in which this rank leads its part
};

}  // namespace phicoll
