#pragma once

// Ranks pass one word from each to the next. This measures the one-way time of a cache line between two CPUs,
// and the time of a switch between ranks on one CPU.

#include <cstdint>

#include "phicoll/memory/word.hpp"

namespace phicoll {
namespace kernels {

/// Polls without a pause.
struct BareLook {
  template <class Port>
  static void turn(Port&) {}
};

/// Yields the CPU between two looks, and ends with the group.
struct YieldLook {
  template <class Port>
  static void turn(Port& port) {
    port.yield();
  }
};

/// `turns` times round `ranks` ranks; rank 0 begins. The word counts hand-overs and must hold `start` when
/// all begin; it holds start + ranks * turns in the end. `Look::turn` is what happens between two looks.
template <class Look, class Port>
void hand_on(Port& port, Word<std::uint64_t>& word, int rank, int ranks, std::uint64_t start,
             std::uint64_t turns) {
  std::uint64_t mine = start + static_cast<std::uint64_t>(rank);
  for (std::uint64_t i = 0; i < turns; ++i, mine += static_cast<std::uint64_t>(ranks)) {
    while (port.load_acquire(word) != mine) Look::turn(port);
    port.store_release(word, mine + 1);
  }
}

/// The same between two ranks: `turns` hand-overs in each direction; `first` begins.
template <class Look, class Port>
void hand_over(Port& port, Word<std::uint64_t>& word, bool first, std::uint64_t start, std::uint64_t turns) {
  hand_on<Look>(port, word, first ? 0 : 1, 2, start, turns);
}

}  // namespace kernels
}  // namespace phicoll
