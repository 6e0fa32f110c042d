#pragma once

// Folds any number of ranks P to a power of two, for algorithms that need one. With q the largest power of
// two that is at most P and r = P - q, each of the first r even ranks gives its data to the rank above it and
// gets the result back at the end; the other q ranks are the core. Neighbours fold, so ascending core numbers
// stand for ascending ranges of ranks, and the order of operands is kept. Source: namashivayam-2014 section
// 5.1.2.

#include <string>

#include "phicoll/support/assert.hpp"

namespace phicoll {

class Fold {
 public:
  explicit Fold(int ranks) {
    while ((2 << steps_) <= ranks) ++steps_;
    extra_ = ranks - (1 << steps_);
  }
  /// floor(lg P).
  int steps() const { return steps_; }
  int core_size() const { return 1 << steps_; }
  /// Whether the rank stands aside after giving its data to rank + 1.
  bool folded(int rank) const { return rank < 2 * extra_ && rank % 2 == 0; }
  /// Whether the rank also carries the data of rank - 1.
  bool carries(int rank) const { return rank < 2 * extra_ && rank % 2 == 1; }
  /// The core number of a rank that is not folded.
  int core(int rank) const {
    PHICOLL_ASSERT(ThisBuild, !folded(rank),
                   "rank " + std::to_string(rank) + " stands aside: it has no core number");
    return rank < 2 * extra_ ? rank / 2 : rank - extra_;
  }
  int rank(int core) const {
    PHICOLL_ASSERT(ThisBuild, core >= 0 && core < core_size(), "core number " + std::to_string(core));
    return core < extra_ ? 2 * core + 1 : core + extra_;
  }
  /// The first rank that core rank `core` stands for; P for core_size().
  int first(int core) const { return core < extra_ ? 2 * core : core + extra_; }

 private:
  int steps_ = 0;
  int extra_ = 0;
};

}  // namespace phicoll
