#pragma once

// Limits of parameters that many algorithms have: a value larger than useful acts as the largest useful one.

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

}  // namespace phicoll
