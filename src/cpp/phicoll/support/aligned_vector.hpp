#pragma once

// A vector whose memory starts on a stride of its own, so that what one rank reads on its hot path never
// shares a line with what another rank writes. (C++14's new does not over-align.)

#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#include "phicoll/arch/arch.hpp"

namespace phicoll {

inline void* allocate_strided(std::size_t bytes) {
  void* memory = nullptr;
  const std::size_t whole = arch::whole_strides(bytes);
  if (posix_memalign(&memory, arch::stride_bytes, whole) != 0) throw std::bad_alloc();
  return memory;
}

template <class T>
struct StridedAllocator {
  using value_type = T;
  StridedAllocator() = default;
  template <class U>
  StridedAllocator(const StridedAllocator<U>&) {}
  T* allocate(std::size_t count) { return static_cast<T*>(allocate_strided(count * sizeof(T))); }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  friend bool operator==(const StridedAllocator&, const StridedAllocator&) { return true; }
  friend bool operator!=(const StridedAllocator&, const StridedAllocator&) { return false; }
};

template <class T>
using AlignedVector = std::vector<T, StridedAllocator<T>>;

}  // namespace phicoll
