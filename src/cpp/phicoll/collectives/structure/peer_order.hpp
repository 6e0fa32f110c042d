#pragma once

// In which order a rank awaits all others, where it may choose: first those that share its CPU, then the
// rest, each part from the next rank on.
//
// Who waits for a rank of its own CPU gives the CPU away at once, so by the time all of these have come each
// has been scheduled once, and the ranks of the other CPUs have most likely come too. In the order of ranks,
// which are dealt out to CPUs in turn, a rank looked in vain for one on another CPU while those that it would
// wait for next needed its own.

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
  /// Whether the rank shares its CPU, so that the order is worth a look at all peers before they are needed.
  bool sharing() const { return sharing_; }

 private:
  AlignedVector<int> order_;
  bool sharing_ = false;
};

}  // namespace phicoll
