#pragma once

// Message data of a few bytes as one value, which algorithms pass on in a word. A port whose memory is not the host's,
// where a rank's earlier stores may not be in memory yet, has functions of its own, found by its type.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "phicoll/memory/data.hpp"

namespace phicoll {

// A call of memcpy takes as long as all that a small collective does besides waiting, and its caller needs more registers.
[[gnu::noinline]] inline void copy_odd_bytes(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

/// The first `bytes` (at most 8) of the data, the rest 0. Eight and four bytes take one load and one store.
template <class Port>
inline std::uint64_t read_value(Port&, Data from, std::size_t bytes) {
  std::uint64_t value = 0;
  if (__builtin_expect(bytes == sizeof value, 1)) {
    std::memcpy(&value, from.at, sizeof value);
  } else if (bytes == sizeof(std::uint32_t)) {
    std::uint32_t half;
    std::memcpy(&half, from.at, sizeof half);
    std::memcpy(&value, &half, sizeof half);
  } else {
    copy_odd_bytes(&value, from.at, bytes);
  }
  return value;
}

template <class Port>
inline void write_value(Port&, Data to, std::uint64_t value, std::size_t bytes) {
  if (__builtin_expect(bytes == sizeof value, 1))
    std::memcpy(to.at, &value, sizeof value);
  else if (bytes == sizeof(std::uint32_t))
    std::memcpy(to.at, &value, sizeof(std::uint32_t));
  else
    copy_odd_bytes(to.at, &value, bytes);
}

/// to[i] = values[0][i] op values[1][i], where each value holds `count` elements.
template <class Port>
inline void combine_values(Port&, const Operator& op, Data to, const std::uint64_t* values,
                           std::size_t count) {
  op.kernel(op.context, to.at, values, values + 1, count);
}

}  // namespace phicoll
