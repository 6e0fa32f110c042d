#pragma once

// Two ranks that hand one word to each other: the one-way time of a cache line between two CPUs, and the time
// of a switch between two ranks of one CPU.

#include <cstdint>

#include "phicoll/memory/word.hpp"

namespace phicoll {
namespace kernels {

/// Looks again at once, without a pause.
struct BareLook {
  template <class Port>
  static void turn(Port&) {}
};

/// `turns` hand-overs in each direction; `first` begins. The word counts hand-overs and must hold `start`
/// when both begin; it holds start + 2 * turns in the end. `Look::turn` is what happens between two looks.
template <class Look, class Port>
void hand_over(Port& port, Word<std::uint64_t>& word, bool first, std::uint64_t start, std::uint64_t turns) {
  std::uint64_t mine = first ? start : start + 1;
  for (std::uint64_t i = 0; i < turns; ++i, mine += 2) {
    while (port.load_acquire(word) != mine) Look::turn(port);
    port.store_release(word, mine + 1);
  }
}

}  // namespace kernels
}  // namespace phicoll
