#pragma once

// Barriers that gather arrivals up one tree of ranks and release down another or the same, with a line per
// rank, its flag: set when its subtree has arrived, changed back by its release parent. Source:
// panigrahi-2014 section V; velamati-2007 section 3.2 ("TREE").
//
// (1) The line has two writers, one at a time, and the flag hands it over. The rank writes it, then leaves it
//     alone until it has read the release.
// (2) Its releaser was released itself or is the root, so the arrival has been read. So both may store the
//     whole line without reading it.

#include <cstdint>
#include <vector>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/contract/reset.hpp"
#include "phicoll/collectives/structure/heap_tree.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

/// The ranks that a rank waits for, in this order (`gather`), and those that it releases, in this order
/// (`release`). The root's parent is -1.
struct FlagTreeNeighbours {
  std::vector<int> gather;
  std::vector<int> release;
  int release_parent;
};

/// Gathered as given, released down the heap tree of `degree`.
inline FlagTreeNeighbours with_heap_release(const std::vector<int>& gather, int degree, int ranks, int rank) {
  return {gather, heap_children(ranks, degree, rank), rank == 0 ? -1 : heap_parent(degree, rank)};
}

struct FlagTreeParameters {
  Reset reset = Reset::episode;
  StorePolicy store = StorePolicy::plain;
};

inline std::size_t flag_tree_footprint(const Shape& shape) {
  return StridedLines<SoleWriterLine<std::uint64_t>>::bytes(shape, shape.size());
}

template <class Port>
class FlagTreeRank {
 public:
  FlagTreeRank(const FlagTreeParameters& p, const Setup& setup, const FlagTreeNeighbours& neighbours)
      : own_(line_of(setup, setup.rank)),
        gather_count_(neighbours.gather.size()),
        release_parent_(neighbours.release_parent),
        reset_(p.reset),
        store_(p.store) {
    for (int child : neighbours.gather) children_.push_back(Child{line_of(setup, child), child});
    for (int child : neighbours.release) children_.push_back(Child{line_of(setup, child), child});
  }

  // How the flag becomes fit for the next episode:
  //
  // - unset: the papers' 1 for arrived, 0 for released, if one tree serves both ways: who reads the 1 writes
  //   the 0 and meets no old 1. With two trees a fast rank could meet a 1 of this episode in the next.
  // - sense: two bits that count the changes, 1 2 3 0 1 ... An old value is never awaited: no rank is more
  //   than an episode ahead.
  // - episode: a number that only grows, 2e - 1 for arrived and 2e for released. The default.
  void operator()(Port& port) {
    ++episode_;
    switch (reset_) {
      case Reset::episode:
        run(port, at_least(2 * episode_ - 1), at_least(2 * episode_));
        break;
      case Reset::sense:
        run(port, equal<std::uint64_t>((2 * episode_ - 1) & 3), equal<std::uint64_t>((2 * episode_) & 3));
        break;
      case Reset::unset:
        run(port, equal<std::uint64_t>(1), equal<std::uint64_t>(0));
        break;
    }
  }

 private:
  using Line = SoleWriterLine<std::uint64_t>;
  struct Child {
    Line* line;
    int rank;
  };

  static Line* line_of(const Setup& setup, int rank) { return &StridedLines<Line>(setup, 0)[rank]; }

  void run(Port& port, Condition<std::uint64_t> arrived, Condition<std::uint64_t> released) {
    const Child* const gather_end = children_.data() + gather_count_;
    const Child* const end = children_.data() + children_.size();
    // Each wait acquires what the child's whole subtree wrote before it came; the signal hands it on.
    for (const Child* child = children_.data(); child != gather_end; ++child)
      port.wait(child->line->word, arrived, child->rank);
    if (release_parent_ >= 0) {
      port.signal(*own_, arrived.value, store_);
      port.wait(own_->word, released, release_parent_);
    }
    // The root has now heard of all; what it acquired reaches everyone by these.
    for (const Child* child = gather_end; child != end; ++child)
      port.signal(*child->line, released.value, store_);
  }

  std::uint64_t episode_ = 0;
  AlignedVector<Child> children_;  // of the gather tree, then of the release tree
  Line* own_;
  std::size_t gather_count_;
  int release_parent_;
  Reset reset_;
  StorePolicy store_;
};

/// The same for an algorithm whose `neighbours(parameters, size, rank)` gives the trees.
template <class Algorithm, class Port>
class FlagTreeRankOf : public FlagTreeRank<Port> {
 public:
  FlagTreeRankOf(const typename Algorithm::Parameters& p, const Setup& setup)
      : FlagTreeRank<Port>(p.flags, setup, Algorithm::neighbours(p, setup.size(), setup.rank)) {}
};

}  // namespace phicoll
