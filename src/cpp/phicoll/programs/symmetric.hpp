#pragma once

// OpenSHMEM's symmetric memory within a program's shared memory, and the ways to reach another rank's part of
// it that paper 003 compares (its figure 2).

#include <cstddef>

#include "phicoll/programs/context.hpp"

namespace phicoll {
namespace programs {

/// An array of which each rank has as many items, at the same place of its part.
template <class T>
class Symmetric {
 public:
  Symmetric(SharedPieces& pieces, std::size_t items, int ranks)
      : stride_(arch::whole_strides(items * sizeof(T)) / sizeof(T)),
        first_(pieces.take<T>(stride_ * static_cast<std::size_t>(ranks))) {
    static_assert(arch::stride_bytes % sizeof(T) == 0, "no rank begins within another's line");
  }

  /// The rank's part, as shmem_ptr gives it.
  T* of(int rank) const { return first_ + stride_ * static_cast<std::size_t>(rank); }

 private:
  std::size_t stride_;
  T* first_;
};

}  // namespace programs
}  // namespace phicoll
