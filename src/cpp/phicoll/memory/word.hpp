#pragma once

// The types that lie in shared memory. An algorithm holds references to them and touches them only through
// its port, so that the same source runs on real memory, on a simulated machine and on a counting one.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "phicoll/arch/arch.hpp"

namespace phicoll {

/// One naturally aligned word of 1, 2, 4 or 8 bytes. All-zero bytes are its initial value, so a zeroed arena
/// needs no constructor calls. Words of different sizes may lie in one line but never overlap. An operation
/// that reads several of them at once (`load_line`, `wait_line`) sees each word whole and says nothing about
/// their order.
template <class T>
class Word {
  static_assert(std::is_unsigned<T>::value && sizeof(T) <= 8,
                "a word is an unsigned integer of 1, 2, 4 or 8 bytes");

 public:
  /// For ports only: the underlying atomic.
  std::atomic<T>& atomic() { return value_; }
  const std::atomic<T>& atomic() const { return value_; }

 private:
  std::atomic<T> value_;
};

static_assert(sizeof(Word<std::uint8_t>) == 1 && sizeof(Word<std::uint64_t>) == 8, "words are bare");

/// A line that only one rank ever writes (per phase of the algorithm). It may be stored whole without being
/// read first (StorePolicy), which destroys whatever else lies in it. Its one word is at the front.
template <class T>
struct alignas(arch::line_bytes) SoleWriterLine {
  Word<T> word;
  unsigned char rest[arch::line_bytes - sizeof(T)];
};

/// A line of 64 one-byte flags, each with its own writer, that a port can check all at once.
struct alignas(arch::line_bytes) ByteLine {
  Word<std::uint8_t> bytes[arch::line_bytes];
};

/// A line with an 8-byte word at its front and nothing else, for words with several writers (counters).
struct alignas(arch::line_bytes) CounterLine {
  Word<std::uint64_t> word;
  unsigned char rest[arch::line_bytes - sizeof(std::uint64_t)];
};

static_assert(sizeof(SoleWriterLine<std::uint64_t>) == arch::line_bytes, "one line");
static_assert(sizeof(ByteLine) == arch::line_bytes, "one line");
static_assert(sizeof(CounterLine) == arch::line_bytes, "one line");

/// One object per stride of 128 bytes: adjacent-line prefetchers fetch pairs of lines, and a pair with two
/// writers behaves like one shared line.
template <class T>
struct alignas(arch::stride_bytes) Strided {
  T value;
};

}  // namespace phicoll
