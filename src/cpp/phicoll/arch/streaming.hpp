#pragma once

// Ways to copy data to or from another CPU, behind one function. The fastest differs between hosts, and with the
// distance of the two CPUs.

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

/// How bytes are copied.
enum class CopyWay : unsigned char {
  ordinary,     ///< as the C library does
  string,       ///< copy_string
  past_caches,  ///< copy_streaming
  vectors_32,   ///< copy_vectors_32
  vectors_64    ///< copy_vectors_64
};
constexpr int copy_ways = 5;

/// Whether this CPU has the way; copy_by takes only those.
inline bool has_copy_way(CopyWay way) {
  return way == CopyWay::vectors_32 ? has_vectors(32) : way == CopyWay::vectors_64 ? has_vectors(64) : true;
}

inline void copy_by(CopyWay way, unsigned char* to, const unsigned char* from, std::size_t bytes) {
  constexpr std::size_t stride = 256;
  switch (way) {
    case CopyWay::ordinary:
      break;
    case CopyWay::string:
      return copy_string(to, from, bytes);
    case CopyWay::past_caches:
      return copy_streaming(to, from, bytes);
    case CopyWay::vectors_32:
    case CopyWay::vectors_64: {
      const std::size_t whole = bytes / stride * stride;
      if (way == CopyWay::vectors_32)
        copy_vectors_32(to, from, bytes / stride);
      else
        copy_vectors_64(to, from, bytes / stride);
      to += whole;
      from += whole;
      bytes -= whole;
      break;
    }
  }
  std::memcpy(to, from, bytes);
}

}  // namespace arch
}  // namespace phicoll
