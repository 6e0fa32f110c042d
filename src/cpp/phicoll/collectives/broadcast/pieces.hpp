#pragma once

// The size of the rings of pieces that every rank has.

#include <cstddef>

#include "phicoll/arch/arch.hpp"

namespace phicoll {

/// The rings of all ranks together.
constexpr std::size_t rings_limit = std::size_t{16} << 20;

/// Limits a piece so that `cells` of it for each rank fit into rings_limit: whole lines, at least one.
inline void limit_piece(int& piece, int cells, int ranks) {
  const std::size_t most = rings_limit / (static_cast<std::size_t>(cells) * static_cast<std::size_t>(ranks));
  const std::size_t lines = most / arch::stride_bytes * arch::stride_bytes;
  if (static_cast<std::size_t>(piece) > lines) piece = static_cast<int>(lines);
  if (piece < static_cast<int>(arch::line_bytes)) piece = static_cast<int>(arch::line_bytes);
}

}  // namespace phicoll
