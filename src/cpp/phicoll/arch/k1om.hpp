#pragma once

// Xeon Phi Knights Corner: in-order cores with four threads, 64-byte vector stores, stores visible in program
// order. Included by arch.hpp only. The card has no MFENCE, SFENCE, PAUSE, CLFLUSH, RDTSCP, MMX, SSE or AVX.

#include <cstdint>

#include "phicoll/arch/k1om_bytes.hpp"
#include "phicoll/arch/line_words.hpp"
#include "phicoll/arch/no_vectors.hpp"

namespace phicoll {
namespace arch {
inline namespace isa_k1om {

inline const char* name() {
  return "k1om";
}

/// True where a whole-line store that does not read the line exists: here vmovnraps and vmovnrngoaps.
constexpr bool has_no_read_stores() {
  return true;
}

/// About `wanted` core cycles in which the core's three other threads get this thread's issue slots. An
/// interrupt ends it early.
inline void delay(unsigned wanted) {
  k1om_bytes::delay(wanted);
}

/// One polite turn of a spin loop: 64 cycles, a quarter of what a line takes from another core, given to the
/// siblings.
inline void pause() {
  k1om_bytes::delay(64);
}

/// Between two looks at a flag that is about to come: nothing, the core issues in order (and has no LFENCE).
inline void look_gap() {
  __asm__ __volatile__("" : : : "memory");
}

/// The time-stamp counter, in core cycles. The core issues in order, but a load before RDTSC may still be
/// under way; the compiler moves no memory access across it.
inline std::uint64_t cycles() {
  std::uint32_t low, high;
  __asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high) : : "memory");
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

/// Sequentially consistent, the unordered line stores included: a locked operation on the stack, as there is
/// no MFENCE.
[[gnu::always_inline]] inline void full_fence() {
#if defined(PHICOLL_THREAD_SANITIZER)
  sanitizer_full_fence();
#else
  __asm__ __volatile__("lock; orl $0, (%%rsp)" : : : "memory", "cc");
#endif
}

/// Every earlier unordered line store is visible before any later store is.
[[gnu::always_inline]] inline void order_no_read_stores() {
  __asm__ __volatile__("lock; addl $0, (%%rsp)" : : : "memory", "cc");
}

/// `source` itself if it is aligned to a line, else its copy in `room`: the vector load takes only whole
/// lines.
inline const void* whole_line(const void* source, LineWord* room) {
  if (reinterpret_cast<std::uintptr_t>(source) % line_bytes == 0) return source;
  const SourceWord* const from = static_cast<const SourceWord*>(source);
  for_words_1_to_7([room, from](int i) { room[i] = from[i]; });
  room[0] = from[0];
  return room;
}

/// A release that carries its data: one store of 64 bytes, after every earlier ordinary store.
inline void store_line_plain(void* line, const void* source) {
  alignas(line_bytes) LineWord room[line_words];
  k1om_bytes::copy_line(line, whole_line(source, room));
}

/// One store of 64 bytes: a thread that sees a word of it sees all of it and every earlier ordinary store.
inline void store_line_ascending(void* line, const void* source) {
  store_line_plain(line, source);
}

/// The same without a read of the line from its owner.
inline void store_line_no_read(void* line, const void* source) {
  alignas(line_bytes) LineWord room[line_words];
  k1om_bytes::copy_line_no_read(line, whole_line(source, room));
}

/// A whole line, not ordered with any other store: see arch.hpp.
inline void store_line_no_read_unordered(void* line, const void* source) {
  alignas(line_bytes) LineWord room[line_words];
  k1om_bytes::copy_line_no_read_unordered(line, whole_line(source, room));
}

/// This ISA has no string move to choose.
inline void copy_string(void* to, const void* from, std::size_t bytes) {
  __builtin_memcpy(to, from, bytes);
}

/// Data that another CPU reads next is stored like any other (memory/hand_over.hpp).
constexpr std::size_t hand_over_bytes = SIZE_MAX;

/// Whether evict_line drops the line from other cores' caches too.
constexpr bool evict_reaches_all_cores = false;

/// How far apart the flags of a group lie where its Shape does not say otherwise: no pairs are fetched,
/// and the prefetcher follows a scan of neighbouring lines.
constexpr std::size_t flag_stride_bytes = line_bytes;

/// Drops the line from this core's caches, modified data to memory. Copies of other cores stay.
inline void evict_line(const void* line) {
  k1om_bytes::evict(line);
}

/// A hint: brings the line for reading into the first-level cache.
inline void prefetch_line(const void* line) {
  k1om_bytes::prefetch(line);
}

}  // namespace isa_k1om
}  // namespace arch
}  // namespace phicoll
