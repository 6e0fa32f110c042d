#pragma once

// Ways to copy data to or from another CPU, behind one function. The fastest differs between hosts, and with
// the distance of the two CPUs.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "phicoll/arch/arch.hpp"

namespace phicoll {
namespace arch {

/// Copies bytes of any alignment. Whole lines of the destination are written by unordered no-read stores,
/// followed by a fence: the next signal makes them visible like any other store. The ranges do not overlap.
inline void copy_streaming(unsigned char* to, const unsigned char* from, std::size_t bytes) {
  const std::size_t past = reinterpret_cast<std::uintptr_t>(to) % line_bytes;
  std::size_t at = past == 0 ? 0 : line_bytes - past;
  if (at > bytes) at = bytes;
  std::memcpy(to, from, at);
  for (; bytes - at >= line_bytes; at += line_bytes) store_line_no_read_unordered(to + at, from + at);
  std::memcpy(to + at, from + at, bytes - at);
  order_no_read_stores();
}

/// Copies by vectors of 64 bytes (`wide`) or 32, with ordinary stores.
inline void copy_by_vectors(bool wide, unsigned char* to, const unsigned char* from, std::size_t bytes) {
  constexpr std::size_t stride = 256;
  const std::size_t whole = bytes / stride * stride;
  if (wide)
    copy_vectors_64(to, from, bytes / stride);
  else
    copy_vectors_32(to, from, bytes / stride);
  std::memcpy(to + whole, from + whole, bytes - whole);
}
/// Copies without the string move, by vectors where the CPU has them.
[[gnu::noinline, gnu::cold]] inline void copy_beside_string(unsigned char* to, const unsigned char* from,
                                                            std::size_t bytes) {
  if (has_vectors(32)) return copy_by_vectors(false, to, from, bytes);
  std::memcpy(to, from, bytes);
}
/// Whether memcpy may use a string move that is slow for these places, so that copy_beside_string is better.
[[gnu::always_inline]] inline bool goes_beside_string(const unsigned char* to, const unsigned char* from,
                                                      std::size_t bytes) {
  return __builtin_expect(bytes >= string_copy_bytes, 0) && __builtin_expect(slow_by_string(to, from), 0);
}

/// How bytes are copied.
enum class CopyWay : unsigned char {
  ordinary,     ///< as memcpy does, but without the string move where that is slow
  string,       ///< copy_string, with the same exception
  past_caches,  ///< copy_streaming
  vectors_32,   ///< copy_by_vectors, AVX2
  vectors_64    ///< copy_by_vectors, AVX-512
};
constexpr int copy_ways = 5;

/// Whether the C library may take a string move for bytes that are too few for it.
[[gnu::always_inline]] inline bool copies_few(std::size_t bytes) {
  return bytes > string_copy_bytes && bytes <= 8192;
}

/// Whether this CPU has the way; copy_by takes only those.
inline bool has_copy_way(CopyWay way) {
  return way == CopyWay::vectors_32 ? has_vectors(32) : way == CopyWay::vectors_64 ? has_vectors(64) : true;
}

inline void copy_by(CopyWay way, unsigned char* to, const unsigned char* from, std::size_t bytes) {
  switch (way) {
    case CopyWay::ordinary:
      break;
    case CopyWay::string:
      return slow_by_string(to, from) ? copy_beside_string(to, from, bytes) : copy_string(to, from, bytes);
    case CopyWay::past_caches:
      return copy_streaming(to, from, bytes);
    case CopyWay::vectors_32:
    case CopyWay::vectors_64:
      return copy_by_vectors(way == CopyWay::vectors_64, to, from, bytes);
  }
  if (goes_beside_string(to, from, bytes)) return copy_beside_string(to, from, bytes);
  std::memcpy(to, from, bytes);
}

}  // namespace arch
}  // namespace phicoll
