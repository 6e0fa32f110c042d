#pragma once

// Message data of a few bytes as one value, which algorithms pass on in a word, in memory that the host's
// loads and stores reach.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "phicoll/memory/data.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

// A call of memcpy takes as long as all that a small collective does besides waiting, and its caller needs
// more registers and a value in memory.
[[gnu::noinline, gnu::pure]] inline std::uint64_t read_odd_bytes(const void* from, std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  return value;
}
[[gnu::noinline]] inline void write_odd_bytes(void* to, std::uint64_t value, std::size_t bytes) {
  std::memcpy(to, &value, bytes);
}

/// The first `bytes` (at most 8) of the data, the rest 0. Eight and four bytes take one load and one store.
inline std::uint64_t value_at(const void* from, std::size_t bytes) {
  std::uint64_t value = 0;
  if (__builtin_expect(bytes == sizeof value, 1)) {
    std::memcpy(&value, from, sizeof value);
  } else if (bytes == sizeof(std::uint32_t)) {
    std::uint32_t half;
    std::memcpy(&half, from, sizeof half);
    std::memcpy(&value, &half, sizeof half);
  } else {
    value = read_odd_bytes(from, bytes);
  }
  return value;
}

inline void set_value(void* to, std::uint64_t value, std::size_t bytes) {
  if (__builtin_expect(bytes == sizeof value, 1))
    std::memcpy(to, &value, sizeof value);
  else if (bytes == sizeof(std::uint32_t))
    std::memcpy(to, &value, sizeof(std::uint32_t));
  else
    write_odd_bytes(to, value, bytes);
}

/// The operands of two ranks, of which the other's comes in `theirs`, and all that combining them takes:
/// looked up before it has come, since what follows delays the result.
struct WordPair {
  // Always inline, so that its members are registers.
  [[gnu::always_inline]] WordPair(const Operator& op, Data result, Data own, std::size_t elements,
                                  int of_rank, const Word<std::uint64_t>& others)
      : rank(of_rank),
        theirs(others),
        kernel(op.kernel),
        context(op.context),
        to(result),
        left(of_rank == 0 ? own.at : static_cast<const void*>(&others)),
        right(of_rank == 0 ? static_cast<const void*>(&others) : own.at),
        count(elements),
        bytes(elements * op.element_bytes) {}

  int rank;
  const Word<std::uint64_t>& theirs;
  Operator::Kernel kernel;
  void* context;
  Data to;
  const void* left;
  const void* right;
  std::size_t count;
  std::size_t bytes;
};

}  // namespace phicoll
