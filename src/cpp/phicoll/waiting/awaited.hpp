#pragma once

// What a rank waits for: a condition on a word, or on bytes of a line, as data.

#include <atomic>
#include <cstdint>
#include <string>

#include "phicoll/arch/arch.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/policies.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

struct Awaited {
  const void* place;
  std::uint64_t value;
  std::uint64_t mask;
  std::int32_t from;   ///< the rank that will signal, any_rank for unknown
  std::uint8_t bytes;  ///< of the word: 1, 4 or 8
  ConditionKind kind;
  bool whole_line;  ///< every byte that `mask` names is to equal `value`
  Meanwhile meanwhile;

  template <class T>
  static Awaited word(const Word<T>& word, Condition<T> condition, int from, Meanwhile meanwhile) {
    static_assert(sizeof(T) != 2,
                  "GCC for k1om looks at such words by an instruction that the card may lack");
    return {&word, condition.value, condition.mask, from, sizeof(T), condition.kind, false, meanwhile};
  }
  static Awaited line(const ByteLine& line, std::uint64_t mask, std::uint8_t value, int from) {
    return {&line, value, mask, from, 1, ConditionKind::equal, true, Meanwhile::little};
  }

  /// The word that lies there now.
  std::uint64_t seen() const { return bytes == 8 ? load<std::uint64_t>() : smaller_seen(); }
  /// Whether the wait is over (acquire).
  bool holds() const {
    if (bytes == 8) return Condition<std::uint64_t>{kind, value, mask}(load<std::uint64_t>());
    return smaller_holds();
  }
  /// Looks up to `turns` times, with `pauses` polite turns after each look in vain. Returns whether the wait
  /// is over, and the word in `*seen`.
  bool look(unsigned turns, unsigned pauses, std::uint64_t* seen) const;
  /// For a report of ranks that wait for ever: ", which is 2, to reach 3".
  std::string text() const;

 private:
  template <class T>
  T load() const {
    return static_cast<const Word<T>*>(place)->atomic().load(std::memory_order_acquire);
  }
  std::uint64_t smaller_seen() const;
  bool smaller_holds() const;
};

/// Whether every byte that `mask` selects equals `value`; acquire. Compares the whole line in a few vector
/// operations.
inline bool line_holds(const ByteLine& line, std::uint64_t mask, std::uint8_t value) {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer pairs a release only with an acquire of the same address, hence byte by byte here.
  for (unsigned b = 0; b < arch::line_bytes; ++b)
    if (((mask >> b) & 1u) != 0 && line.bytes[b].atomic().load(std::memory_order_acquire) != value)
      return false;
  return true;
#elif defined(__SSE2__)
  typedef char Vector __attribute__((vector_size(16), may_alias));
  const Vector zero = {};
  const Vector wanted = zero + static_cast<char>(value);
  std::uint64_t equal_bytes = 0;
  for (unsigned part = 0; part < 4; ++part) {
    // volatile: read again at every look. An x86 load is an acquire; bytes are whole within a vector load.
    const Vector seen = *reinterpret_cast<const volatile Vector*>(line.bytes + 16 * part);
    const auto bits = static_cast<unsigned>(__builtin_ia32_pmovmskb128(seen == wanted));
    equal_bytes |= static_cast<std::uint64_t>(bits) << (16 * part);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return (equal_bytes & mask) == mask;
#else
  // Eight bytes at a time; k1om has no byte-wise vector compare (its vectors hold 32-bit elements).
  const std::uint64_t pattern = 0x0101010101010101ull * value;
  std::uint64_t differing = 0;
  for (unsigned part = 0; part < 8; ++part) {
    const std::uint64_t seen = reinterpret_cast<const std::atomic<std::uint64_t>*>(line.bytes + 8 * part)
                                   ->load(std::memory_order_acquire);
    // Spreads eight mask bits to eight mask bytes: bit b of the part selects byte b.
    std::uint64_t bits = (mask >> (8 * part)) & 0xffu;
    std::uint64_t bytes = 0;
    for (unsigned b = 0; b < 8; ++b) bytes |= ((bits >> b) & 1u) * (0xffull << (8 * b));
    differing |= (seen ^ pattern) & bytes;
  }
  return differing == 0;
#endif
}

}  // namespace phicoll
