#pragma once

// x86-64 hosts. Included by arch.hpp only. Inline assembly instead of intrinsics, so that the file compiles
// with -mno-sse -mno-mmx; every instruction here is in the x86-64 baseline, but for the vectors, which
// has_vectors() guards.
//
// Stores of x86 become visible in program order, so a release is an ordinary store. MOVNTI is the exception:
// it is ordered neither with ordinary stores nor with other MOVNTIs, and only SFENCE puts it in its place.

#include <cstdint>

#include "phicoll/arch/line_words.hpp"

namespace phicoll {
namespace arch {
inline namespace isa_x86_64 {

inline const char* name() {
  return "x86_64";
}

/// True where a whole-line store that does not read the line exists: here the non-temporal stores.
constexpr bool has_no_read_stores() {
  return true;
}

/// One polite turn of a spin loop: frees issue slots for the SMT sibling and spares the exit from the loop a
/// memory-order machine clear. About 10 cycles before Skylake, 140 since, about 40 to 65 on Zen.
inline void pause() {
  __asm__ __volatile__("pause" : : : "memory");
}

/// Between two looks at a flag that is about to come: LFENCE keeps one load in flight instead of as many as
/// fit, so that the exit from the loop costs no memory-order machine clear. PAUSE would do the same but lasts
/// longer.
inline void look_gap() {
  __asm__ __volatile__("lfence" : : : "memory");
}

/// The time-stamp counter: constant rate on every CPU phicoll meets, not the core's clock. RDTSC is not
/// serialising: it may execute before earlier instructions have finished and later ones may start before it.
/// That is some tens of cycles of blur; a caller for which these matter puts full_fence() in front. The
/// compiler moves no memory access across it.
inline std::uint64_t cycles() {
  std::uint32_t low, high;
  __asm__ __volatile__("rdtsc" : "=a"(low), "=d"(high) : : "memory");
  return (static_cast<std::uint64_t>(high) << 32) | low;
}

/// Waits at least `wanted` ticks of the time-stamp counter, in PAUSEs: the SMT sibling gets the issue slots.
/// 0 returns at once. Late by up to a PAUSE and a RDTSC.
inline void delay(unsigned wanted) {
  const std::uint64_t start = cycles();
  while (cycles() - start < wanted) pause();
}

/// Sequentially consistent: no load after it is done before a store before it is visible. A locked operation
/// on the stack instead of MFENCE: the same order for ordinary memory, and faster on most CPUs.
inline void full_fence() {
#if defined(PHICOLL_THREAD_SANITIZER)
  sanitizer_full_fence();
#else
  __asm__ __volatile__("lock; orl $0, (%%rsp)" : : : "memory", "cc");
#endif
}

/// Every earlier store, MOVNTI or ordinary, is visible before any later store is (earlier loads always are
/// done). It also empties the write-combining buffers, without which a MOVNTI may stay out of sight for long.
inline void order_no_read_stores() {
  __asm__ __volatile__("sfence" : : : "memory");
}

/// A release that carries its data: words 1 to 7, then word 0.
inline void store_line_plain(void* line, const void* source) {
  store_words_then_flag(line, source);
}

/// A release at the line's end: words 0 to 6, then word 7.
inline void store_line_ascending(void* line, const void* source) {
  store_words_then_last(line, source);
}

/// One MOVNTI: 8 bytes past the caches to memory; a copy of the line in any cache is dropped.
inline void store_word_non_temporal(LineWord* word, std::uint64_t value) {
  __asm__ __volatile__("movnti %1, %0" : "=m"(*word) : "r"(value) : "memory");
}

/// A whole line, not ordered with anything, not even its words among themselves: see arch.hpp.
inline void store_line_no_read_unordered(void* line, const void* source) {
#if defined(PHICOLL_THREAD_SANITIZER)
  store_words_unordered(line, source);
#elif defined(__SSE2__)
  // Sixteen bytes at a time: faster than eight by eight (docs/bench/behind-the-code.md).
  typedef long long Part __attribute__((vector_size(16), may_alias));
  auto* const to = static_cast<Part*>(line);
  for (int i = 0; i < 4; ++i) {
    Part part;
    __builtin_memcpy(&part, static_cast<const unsigned char*>(source) + 16 * i, sizeof part);
    __asm__ __volatile__("movntdq %1, %0" : "=m"(to[i]) : "x"(part) : "memory");
  }
#else
  LineWord* const to = static_cast<LineWord*>(line);
  const SourceWord* const from = static_cast<const SourceWord*>(source);
  for_words_1_to_7([to, from](int i) { store_word_non_temporal(to + i, from[i]); });
  store_word_non_temporal(to, from[0]);
#endif
}

/// Copies bytes by the CPU's string move, which may write lines without reading them first. Once done, its
/// stores are ordered like any others. The ranges do not overlap.
inline void copy_string(void* to, const void* from, std::size_t bytes) {
#if defined(PHICOLL_THREAD_SANITIZER)
  __builtin_memcpy(to, from, bytes);
#else
  __asm__ __volatile__("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#endif
}

/// From this many bytes on, the C library may copy by the string move too.
constexpr std::size_t string_copy_bytes = 2048;
/// Whether the string move is slow from here to there: if the destination lies a little after the source
/// within their pages of 4 KB, some CPUs treat each load as one that must wait for the last store. On an EPYC
/// of family 25 it copies 1.4 to 3 GB/s where that is 1 to 31 bytes, 8 to 30 GB/s for 33 to 63, and 40
/// elsewhere.
inline bool slow_by_string(const void* to, const void* from) {
  const auto after = reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from);
  return (after - 1) % 4096 < 63;
}

/// Whether copy_vectors has vectors of `bytes` bytes (32: AVX2, 64: AVX-512) on this CPU and system.
inline bool has_vectors(int bytes) {
#if defined(PHICOLL_THREAD_SANITIZER)
  (void)bytes;
  return false;
#else
  static const bool wide = __builtin_cpu_supports("avx512f") != 0;
  static const bool middle = __builtin_cpu_supports("avx2") != 0;
  return bytes == 64 ? wide : bytes == 32 && middle;
#endif
}

/// Copies `strides` times 256 bytes by vectors of 32 bytes, ordinary stores. The upper halves of the
/// registers are zero again when it returns, so that older instructions stay fast.
inline void copy_vectors_32(void* to, const void* from, std::size_t strides) {
  if (strides == 0) return;
  __asm__ __volatile__(
      "1:\n\t"
      "vmovdqu (%1), %%ymm0\n\t"
      "vmovdqu 32(%1), %%ymm1\n\t"
      "vmovdqu 64(%1), %%ymm2\n\t"
      "vmovdqu 96(%1), %%ymm3\n\t"
      "vmovdqu 128(%1), %%ymm4\n\t"
      "vmovdqu 160(%1), %%ymm5\n\t"
      "vmovdqu 192(%1), %%ymm6\n\t"
      "vmovdqu 224(%1), %%ymm7\n\t"
      "vmovdqu %%ymm0, (%0)\n\t"
      "vmovdqu %%ymm1, 32(%0)\n\t"
      "vmovdqu %%ymm2, 64(%0)\n\t"
      "vmovdqu %%ymm3, 96(%0)\n\t"
      "vmovdqu %%ymm4, 128(%0)\n\t"
      "vmovdqu %%ymm5, 160(%0)\n\t"
      "vmovdqu %%ymm6, 192(%0)\n\t"
      "vmovdqu %%ymm7, 224(%0)\n\t"
      "add $256, %1\n\t"
      "add $256, %0\n\t"
      "dec %2\n\t"
      "jnz 1b\n\t"
      "vzeroupper"
      : "+r"(to), "+r"(from), "+r"(strides)
      :
      : "memory", "cc"
#if defined(__SSE2__)  // otherwise the compiler has nothing in them, nor knows them
        ,
        "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7"
#endif
  );
}

/// The same by vectors of 64 bytes, in registers that older instructions do not know.
inline void copy_vectors_64(void* to, const void* from, std::size_t strides) {
  if (strides == 0) return;
  __asm__ __volatile__(
      "1:\n\t"
      "vmovdqu64 (%1), %%zmm16\n\t"
      "vmovdqu64 64(%1), %%zmm17\n\t"
      "vmovdqu64 128(%1), %%zmm18\n\t"
      "vmovdqu64 192(%1), %%zmm19\n\t"
      "vmovdqu64 %%zmm16, (%0)\n\t"
      "vmovdqu64 %%zmm17, 64(%0)\n\t"
      "vmovdqu64 %%zmm18, 128(%0)\n\t"
      "vmovdqu64 %%zmm19, 192(%0)\n\t"
      "add $256, %1\n\t"
      "add $256, %0\n\t"
      "dec %2\n\t"
      "jnz 1b"
      : "+r"(to), "+r"(from), "+r"(strides)
      :
      : "memory", "cc"
#if defined(__AVX512F__)
        ,
        "xmm16", "xmm17", "xmm18", "xmm19"
#endif
  );
}

/// Hints: this CPU will write the line soon; another CPU will read it soon. The second is a no-op on most
/// CPUs (has_demotion).
inline void prefetch_line_to_write(const void* line) {
  __asm__ __volatile__("prefetchw (%0)" : : "r"(line));
}
inline void demote_line(const void* line) {
  __asm__ __volatile__("cldemote (%0)" : : "r"(line) : "memory");
}
inline bool has_demotion() {
  std::uint32_t a = 7, b, c = 0, d;
  __asm__ __volatile__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return (c >> 25 & 1) != 0;
}

/// From this many bytes on, it can pay to store data that another CPU reads next past the caches
/// (memory/hand_over.hpp).
constexpr std::size_t hand_over_bytes = 1024;

/// A release that carries its data, without a read of the line.
///
/// (1) The first SFENCE makes words 1 to 7 and every earlier store, ordinary ones too, visible before the
///     flag. The eight stores usually leave as one write of 64 bytes, but an interrupt may split it into
///     pieces without an order.
/// (2) The second SFENCE makes the flag visible now and before any later store.
///
/// A single fence after all eight stores would be faster (docs/bench/behind-the-code.md) but could show a
/// reader the flag without the data.
inline void store_line_no_read(void* line, const void* source) {
#if defined(PHICOLL_THREAD_SANITIZER)
  store_words_then_flag(line, source);
#else
  LineWord* const to = static_cast<LineWord*>(line);
  const SourceWord* const from = static_cast<const SourceWord*>(source);
  for_words_1_to_7([to, from](int i) { store_word_non_temporal(to + i, from[i]); });
  order_no_read_stores();
  store_word_non_temporal(to, from[0]);
  order_no_read_stores();
#endif
}

/// Whether evict_line drops the line from other cores' caches too.
constexpr bool evict_reaches_all_cores = true;

/// How far apart the flags of a group lie where its Shape does not say otherwise: lines are fetched in pairs.
constexpr std::size_t flag_stride_bytes = stride_bytes;

/// Writes the line back and drops it from every cache of the machine. Ordered with earlier and later accesses
/// to the same line; a later access to another line may pass it.
inline void evict_line(const void* line) {
  __asm__ __volatile__("clflush (%0)" : : "r"(line) : "memory");
}

/// A hint: brings the line for reading into this core's caches. Any address is allowed.
inline void prefetch_line(const void* line) {
  __asm__ __volatile__("prefetcht0 (%0)" : : "r"(line));
}

}  // namespace isa_x86_64
}  // namespace arch
}  // namespace phicoll
