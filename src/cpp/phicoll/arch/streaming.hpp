#pragma once

// Ways to copy: one function for all that hand data to another CPU or take it from one. Which is the quickest differs
// between hosts, and with the distance of the two CPUs.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "phicoll/arch/arch.hpp"

namespace phicoll {
namespace arch {

/// Copies bytes of any alignment, whole lines of the destination by unordered no-read stores; they are behind
/// a fence when this returns, so that the next signal makes them visible like any other store. Not
/// overlapping.
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
  ordinary,    ///< as the C library does
  string,      ///< copy_string
  past_caches  ///< copy_streaming
};
constexpr int copy_ways = 3;

inline void copy_by(CopyWay way, unsigned char* to, const unsigned char* from, std::size_t bytes) {
  if (way == CopyWay::past_caches)
    copy_streaming(to, from, bytes);
  else if (way == CopyWay::string)
    copy_string(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

}  // namespace arch
}  // namespace phicoll
