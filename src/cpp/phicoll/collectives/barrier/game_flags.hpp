#pragma once

// Where the arrival flags of a tournament's game lie.

#include <cstddef>

#include "phicoll/memory/shape.hpp"

namespace phicoll {

enum class FlagLayout : unsigned char {
  packed,         ///< the flags of a game side by side, 8 bytes each: one look finds up to eight
  line_per_flag,  ///< each on a stride of its own: arrivals do not disturb each other
};

template <class Visitor>
void describe_flag_layout(Visitor& visitor, FlagLayout& layout) {
  visitor.choice("layout", layout, {"packed", "line-per-flag"},
                 "a game's arrival flags side by side, or each on a line of its own");
}

inline std::size_t flag_offset(FlagLayout layout, int slot, const Shape& shape) {
  return static_cast<std::size_t>(slot) * (layout == FlagLayout::packed ? 8 : shape.stride());
}

/// Bytes of one game: two games never share a line.
inline std::size_t game_bytes(FlagLayout layout, int ways, const Shape& shape) {
  return shape.whole_strides(flag_offset(layout, ways, shape));
}

}  // namespace phicoll
