#pragma once

// What Rabenseifner's allreduce and reduce have in common: ranges of elements that halve at doubling
// distances. In step s the core ranks c and c xor 2^s of a fold each combine one half of their common range,
// the lower half where the rank's bit is 0. Distances double from 1, so combined values always belong to
// neighbouring ranges of ranks, lower ones on the left: an operator need not commute, and each element has
// one bracketing.

#include "phicoll/collectives/transport/transfer.hpp"

namespace phicoll {

/// Elements [begin, end).
struct ElementRange {
  std::size_t begin;
  std::size_t end;
  std::size_t count() const { return end - begin; }
};

struct HalvingStep {
  int peer = -1;
  ElementRange common{0, 0};  ///< of both ranks, before the step
};

struct HalvingMemory {
  static std::size_t what_is_shown(int ranks) { return shown_footprint(ranks, Fold(ranks).steps() + 1); }
  static std::size_t footprint(int ranks, std::size_t bytes, int buffers) {
    return ScratchBuffers::footprint(ranks, bytes, buffers) + what_is_shown(ranks);
  }
};

// The first phase by load/store: each rank has an array of its own that its peers reach. It reads its half in
// its partner's array (in the first step, where the partner's operand lies) and combines it into its own:
// into the half that the partner does not read, so nothing is copied. `done` for each step (release) tells
// the partner at least that its data was read.
template <class Port>
class Halving {
 public:
  /// `buffers` buffers of `bytes` bytes for each rank.
  Halving(const Setup& setup, std::size_t bytes, int buffers)
      : fold(setup.size()),
        scratch(setup, 0, bytes, buffers),
        shown(setup, ScratchBuffers::footprint(setup.size(), bytes, buffers), fold.steps() + 1),
        steps_(static_cast<std::size_t>(fold.steps())),
        rank_(setup.rank) {
    if (fold.folded(rank_)) return;
    for (int s = 0; s < fold.steps(); ++s) step(s).peer = fold.rank(fold.core(rank_) ^ (1 << s));
  }

  HalvingStep& step(int s) { return steps_.data()[static_cast<std::size_t>(s)]; }
  /// The part of a step's common range that this rank goes on with, or its peer.
  ElementRange kept(const HalvingStep& s, bool own) const {
    const std::size_t middle = s.common.begin + s.common.count() / 2;
    return (rank_ < s.peer) == own ? ElementRange{s.common.begin, middle}
                                   : ElementRange{middle, s.common.end};
  }

  /// The first `steps` steps. `mine` becomes `home`, where the result is. The peer is shown `write`, which
  /// `read` may change from step to step, as the place to write. read(step, the peer's place to write) is
  /// called when the peer's data has been read.
  template <class Read>
  ElementRange halve(Port& port, const Operator& op, const PieceArrays& a, Data& mine, Data home,
                     const Data& write, int steps, Read read) {
    ElementRange range{0, a.count};
    for (int s = 0; s < steps; ++s) {
      HalvingStep& now = step(s);
      now.common = range;
      show(port, s, a, mine, home, write, kept(now, false), op.element_bytes);
      range = kept(now, true);
      const ShownPlaces partner = combine_shown(port, op, s, a.number, home, mine, range);
      mine = home;
      read(s, partner.write);
    }
    return range;
  }

  /// The peer reads `range` of `mine`. An operand in a send buffer that peers cannot reach must first be
  /// brought to where they can.
  void show(Port& port, int s, const PieceArrays& a, Data mine, Data home, Data write, ElementRange range,
            std::size_t size) {
    Data read = mine;
    if (mine == a.send && !a.send_direct) {
      const std::size_t at = range.begin * size;
      move_some(port, home + at, mine + at, range.count() * size);
      read = home;
    }
    shown.show(port, s, a.number, read, write);
  }

  /// Combines a range of `mine` with what the peer shows into the same range of `to`.
  ShownPlaces combine_shown(Port& port, const Operator& op, int s, std::uint64_t number, Data to, Data mine,
                            ElementRange range) {
    const int peer = step(s).peer;
    const ShownPlaces partner = shown.look(port, peer, s, number);
    const std::size_t at = range.begin * op.element_bytes;
    combine_sides(port, op, to + at, mine + at, partner.read + at, peer < rank_, range.count());
    return partner;
  }

  Fold fold;
  ScratchBuffers scratch;
  Shown<Port> shown;

 private:
  AlignedVector<HalvingStep> steps_;
  int rank_;
};

}  // namespace phicoll
