#pragma once

// phicoll's broadcast for large messages: one copy from the root's buffer to each rank's, made from both
// sides at once. Where the root's buffer cannot be reached by its peers (between processes, where the kernel
// refuses it, unless it lies in the group's heap) the message goes through the ring. The root returns when
// all have their message: its buffer was read in place.

#include "phicoll/collectives/broadcast/ring.hpp"
#include "phicoll/collectives/transport/rooted_copy.hpp"
#include "phicoll/collectives/transport/single_copy.hpp"

namespace phicoll {

struct SingleCopyBroadcast : SingleCopy<RingBroadcast> {
  static AlgorithmFacts facts() {
    return {"single-copy", Origin::phicoll, "phicoll",
            "one copy from the root's buffer to each rank's, from both sides at once"};
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : copy_(setup, 0, static_cast<std::size_t>(p.piece), false),
          ring_(other(p, setup.shape), behind(setup)),
          rank_(setup.rank),
          ranks_(setup.size()) {}

    void operator()(Port& port, const Call& call) {
      if (call.count == 0 || ranks_ == 1) return;
      bool reached = false;
      if (rank_ == call.root) {
        reached = copy_.begin_root(port, call.tag, call.receive, call.count);
        if (reached)
          for (const int r : copy_.others()) copy_.serve(port, r, call.receive, 0, call.count);
        copy_.end_root(port);
      } else {
        reached = copy_.exchange(port, call.tag, call.root, call.receive, 0, call.count);
      }
      if (!reached) ring_(port, call);
    }

   private:
    RootedCopy<Port> copy_;
    RingBroadcast::Rank<Port> ring_;
    int rank_;
    int ranks_;
  };
};

}  // namespace phicoll
