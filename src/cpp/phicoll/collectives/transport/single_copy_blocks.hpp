#pragma once

// Gather and scatter of large blocks: one copy between each rank's block and its place in the root's buffer, made from
// both sides at once. If the root's buffer cannot be reached, the blocks go through the mailbox.

#include <cstddef>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/transport/rooted_copy.hpp"

namespace phicoll {

/// `Other` is the algorithm that uses the mailbox; `to_root` is true for a gather.
template <class Other, bool to_root>
struct SingleCopyBlocks : AlgorithmDefaults {
  struct Parameters {
    int piece = 262144;
    int cells = 64;
  };

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.integer("piece", p.piece, 4096, 1 << 24, "bytes that one side copies at a time");
    visitor.integer("cells", p.cells, 2, 4096, "cells of the other way, where buffers cannot be reached");
  }
  static const char* unfit(const Parameters&, const Shape&, const CallFacts& facts) {
    return facts.vector ? "blocks of one size" : nullptr;
  }

  static typename Other::Parameters other(const Parameters& p, const Shape& shape) {
    typename Other::Parameters way;
    way.cells = p.cells;
    Other::limit(way, shape);
    return way;
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return exposures_footprint(shape.size()) + Other::footprint(other(p, shape), shape);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : copy_(setup, 0, static_cast<std::size_t>(p.piece), to_root),
          other_(other(p, setup.shape),
                 Setup{setup.rank, setup.shape, setup.memory + exposures_footprint(setup.size())}),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      if (call.count == 0) return;
      const auto at = [&](int r) { return static_cast<std::size_t>(r) * call.count; };
      const Data block = to_root ? call.send : call.receive;  // the rank's own
      bool reached = false;
      if (rank_ == call.root) {
        const Data all = to_root ? call.receive : call.send;
        reached = copy_.begin_root(port, call.tag, all, at(ranks_));
        if (reached) {
          const Data place = all + at(rank_);
          if (place != block) port.move(to_root ? place : block, to_root ? block : place, call.count);
          for (const int r : copy_.others()) copy_.serve(port, r, all, at(r), call.count);
        }
        copy_.end_root(port);
      } else {
        reached = copy_.exchange(port, call.tag, call.root, block, at(rank_), call.count);
      }
      if (!reached) other_(port, call);
    }

   private:
    RootedCopy<Port> copy_;
    typename Other::template Rank<Port> other_;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
