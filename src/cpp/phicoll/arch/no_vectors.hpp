#pragma once

// For instruction sets that have only the compiler's copy: no vectors, no hints. Included by their files
// only.

#include <cstddef>
#include <cstdint>

namespace phicoll {
namespace arch {

constexpr std::size_t string_copy_bytes = SIZE_MAX;
inline bool slow_by_string(const void*, const void*) {
  return false;
}
inline bool has_vectors(int) {
  return false;
}
inline void copy_vectors_32(void*, const void*, std::size_t) {}
inline void copy_vectors_64(void*, const void*, std::size_t) {}
inline void prefetch_line_to_write(const void*) {}
inline void demote_line(const void*) {}
inline bool has_demotion() {
  return false;
}

}  // namespace arch
}  // namespace phicoll
