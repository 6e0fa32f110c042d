#pragma once

// The order in which a rank waits for all others, where it may choose: first those that share its CPU, then
// the rest, each part from the next rank on.
//
// A rank that waits for one on its own CPU yields the CPU at once. When all of these have come, each has been
// scheduled once, and the ranks of the other CPUs have most likely come too. In rank order, a rank would poll
// in vain for one on another CPU while ranks that it awaits next need its own CPU.

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

class PeerOrder {
 public:
  explicit PeerOrder(const Setup& setup) {
    const int ranks = setup.size();
    for (const bool near : {true, false})
      for (int turn = 1; turn < ranks; ++turn) {
        const int r = (setup.rank + turn) % ranks;
        if (setup.shape.share_cpu(setup.rank, r) != near) continue;
        order_.push_back(r);
        sharing_ = sharing_ || near;
      }
  }

  const int* begin() const { return order_.data(); }
  const int* end() const { return order_.data() + order_.size(); }
  /// Whether the rank shares its CPU. If so, it pays to wait for all peers in this order before any is
  /// needed.
  bool sharing() const { return sharing_; }

 private:
  AlignedVector<int> order_;
  bool sharing_ = false;
};

}  // namespace phicoll
