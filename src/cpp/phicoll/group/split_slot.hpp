#pragma once

#include <cstdint>

#include "phicoll/arch/arch.hpp"

namespace phicoll {

/// How much room a heap with its present sub-communicators leaves for new ones.
enum class PartRoom : std::uint64_t {
  least,  ///< as little as small calls need, so that there may be thousands
  some,   ///< enough that calls of some KB are as fast as ever
  usual,  ///< the same of some hundred KB
  large   ///< what makes large calls fast
};

/// What one rank of a communicator tells the others when they split it. Plain words: written before and read
/// after one of the communicator's own barriers.
struct alignas(arch::stride_bytes) SplitSlot {
  std::int64_t color;
  std::int64_t key;
  PartRoom room;  // room_for_parts(), before any part took memory; rank 0's counts
  // Written by the first rank of a part for its other ranks.
  std::uint64_t block;         // offset of the child's control in the group's memory; 0: there was no memory
  std::uint64_t region_bytes;  // of the child
  std::uint64_t used_before;   // bytes of its region that may not be zero
  std::uint64_t asked;         // for the error, where there was no memory
  std::uint64_t free;
  std::uint64_t attempt;  // of a twin: which of its ranks' attempts made it (Communicator::twin)
};

}  // namespace phicoll
