#pragma once

// Limits of parameters that many algorithms have: a value larger than useful, or than there is room for, acts
// as the largest one that serves.

#include <algorithm>
#include <cstddef>

#include "phicoll/memory/shape.hpp"

namespace phicoll {

/// Limits a factor of growth, 2 or more.
inline void limit_growth(int& factor, const Shape& shape) {
  const int useful = shape.size() > 2 ? shape.size() : 2;
  if (factor > useful) factor = useful;
}

/// Limits a number of other ranks, 1 or more.
inline void limit_others(int& others, const Shape& shape) {
  const int useful = shape.size() > 1 ? shape.size() - 1 : 1;
  if (others > useful) others = useful;
}

/// The most bytes that an algorithm's buffers take: half of a group's default memory.
constexpr std::size_t most_buffers = std::size_t{32} << 20;

/// Halves a buffer's size, or a number of pieces, down to `least`, while footprint() is above `most` bytes.
template <class Footprint>
void limit_bytes(int& bytes, int least, Footprint footprint, std::size_t most = most_buffers) {
  while (bytes > least && footprint() > most) bytes = std::max(bytes / 2, least);
}

}  // namespace phicoll
