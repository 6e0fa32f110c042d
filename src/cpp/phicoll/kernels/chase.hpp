#pragma once

// A dependent chase through lines in a shuffled order: the time of one read, from wherever the lines are.

#include <cstdint>

#include "phicoll/memory/word.hpp"

namespace phicoll {
namespace kernels {

using ChaseLines = Strided<CounterLine>;
constexpr unsigned chase_length = 128;

/// Writes the cycle of all lines: each holds the number of the next. The order comes from `seed` by a
/// multiplicative walk (a full period modulo a power of two, Hull and Dobell 1962), without an array.
template <class Port>
void write_chase(Port& port, ChaseLines* lines, std::uint64_t seed) {
  const std::uint64_t factor = 4 * (seed % 31) + 5;      // 1 modulo 4
  const std::uint64_t add = 2 * ((seed >> 8) % 63) + 1;  // odd
  for (std::uint64_t i = 0; i < chase_length; ++i)
    port.store_release(lines[i].value.word, (i * factor + add) % chase_length);
}

/// Follows the cycle once and returns where it ends, which is where it began.
template <class Port>
std::uint64_t chase(Port& port, const ChaseLines* lines) {
  std::uint64_t at = 0;
  for (unsigned i = 0; i < chase_length; ++i) at = port.load_relaxed(lines[at].value.word);
  return at;
}

}  // namespace kernels
}  // namespace phicoll
