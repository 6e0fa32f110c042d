#pragma once

// Gather and scatter of large blocks: one copy between each rank's block and its place in the root's buffer,
// made from both sides at once. If the root's buffer cannot be reached, the blocks go through the mailbox.

#include <cstddef>

#include "phicoll/collectives/transport/rooted_copy.hpp"
#include "phicoll/collectives/transport/single_copy.hpp"

namespace phicoll {

/// `Other` is the algorithm that uses the mailbox; `to_root` is true for a gather.
template <class Other, bool to_root>
struct SingleCopyBlocks : SingleCopy<Other> {
  using Base = SingleCopy<Other>;
  using typename Base::Parameters;

  static const char* unfit(const Parameters&, const Shape&, const CallFacts& facts) {
    return facts.vector ? "blocks of one size" : nullptr;
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : copy_(setup, 0, static_cast<std::size_t>(p.piece), to_root),
          other_(Base::other(p, setup.shape), Base::behind(setup)),
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
