#pragma once

// A line store made of eight ordinary 8-byte stores that the compiler (and ThreadSanitizer) sees. Used where
// an ISA has nothing better, and in place of every inline-assembly line store under ThreadSanitizer, to which
// assembly is invisible.

#include <cstdint>

#if defined(__SANITIZE_THREAD__)
#define PHICOLL_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PHICOLL_THREAD_SANITIZER 1
#endif
#endif

namespace phicoll {
namespace arch {

/// An aligned 8-byte word of a line of any type, and one of a source of any type and alignment.
typedef std::uint64_t __attribute__((may_alias)) LineWord;
typedef std::uint64_t __attribute__((may_alias, aligned(1))) SourceWord;

constexpr int line_words = 8;

/// Unrolled by hand: at -O2 gcc keeps a loop of seven a loop, and a line store is then three times as many
/// instructions.
template <class StoreWord>
inline void for_words_1_to_7(StoreWord store_word) {
  store_word(1);
  store_word(2);
  store_word(3);
  store_word(4);
  store_word(5);
  store_word(6);
  store_word(7);
}

/// Words 1 to 7 in any order, then word 0 with release. The __atomic builtins instead of std::atomic because
/// the line is memory of any type; the order of the seven is left to the machine.
inline void store_words_then_flag(void* line, const void* source) {
  LineWord* const to = static_cast<LineWord*>(line);
  const SourceWord* const from = static_cast<const SourceWord*>(source);
  for_words_1_to_7([to, from](int i) { __atomic_store_n(to + i, from[i], __ATOMIC_RELAXED); });
  __atomic_store_n(to, from[0], __ATOMIC_RELEASE);
}

/// Words 0 to 6 in any order, then word 7 with release.
inline void store_words_then_last(void* line, const void* source) {
  LineWord* const to = static_cast<LineWord*>(line);
  const SourceWord* const from = static_cast<const SourceWord*>(source);
  __atomic_store_n(to, from[0], __ATOMIC_RELAXED);
  for (int i = 1; i < line_words - 1; ++i) __atomic_store_n(to + i, from[i], __ATOMIC_RELAXED);
  __atomic_store_n(to + line_words - 1, from[line_words - 1], __ATOMIC_RELEASE);
}

/// All words without any order, the flag included. ThreadSanitizer knows nothing of the fences around such a
/// line that make a flag of it; for it alone word 0 is a release.
inline void store_words_unordered(void* line, const void* source) {
#if defined(PHICOLL_THREAD_SANITIZER)
  store_words_then_flag(line, source);
#else
  LineWord* const to = static_cast<LineWord*>(line);
  const SourceWord* const from = static_cast<const SourceWord*>(source);
  for_words_1_to_7([to, from](int i) { __atomic_store_n(to + i, from[i], __ATOMIC_RELAXED); });
  __atomic_store_n(to, from[0], __ATOMIC_RELAXED);
#endif
}

#if defined(PHICOLL_THREAD_SANITIZER)
/// A sequentially consistent fence that ThreadSanitizer understands (gcc refuses atomic_thread_fence with
/// it): all fences meet in one word, so that whatever one thread did before its fence happens before the next
/// thread's fence.
inline void sanitizer_full_fence() {
  static std::uint64_t meeting_point;  // constant initialisation: no guard; one object in the program
  __atomic_fetch_add(&meeting_point, 1, __ATOMIC_SEQ_CST);
}
#endif

}  // namespace arch
}  // namespace phicoll
