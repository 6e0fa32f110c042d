#pragma once

// aarch64 hosts (ARMv8-A). Included by arch.hpp only. The machine reorders ordinary stores, so here a release
// is an instruction of its own. There is no whole-line store that skips the read of the line: DC ZVA does,
// but it shows readers a line of zeros first, flag included; STNP is only a hint. The no-read stores are
// therefore ordinary stores with the promises of arch.hpp.

#include <cstdint>

#include "phicoll/arch/line_words.hpp"
#include "phicoll/arch/no_vectors.hpp"

namespace phicoll {
namespace arch {
inline namespace isa_aarch64 {

inline const char* name() {
  return "aarch64";
}

/// True where a whole-line store that does not read the line exists.
constexpr bool has_no_read_stores() {
  return false;
}

/// One polite turn of a spin loop. ISB instead of YIELD: most cores execute YIELD as a no-operation, while
/// ISB holds the front end back for about as long as a short PAUSE.
inline void pause() {
  __asm__ __volatile__("isb" : : : "memory");
}

/// Between two looks at a flag that is about to come: nothing but a look at memory anew.
inline void look_gap() {
  __asm__ __volatile__("" : : : "memory");
}

/// Waits very roughly `wanted` core cycles, at about 16 to an ISB. The generic timer would be no better: it
/// ticks at 25 MHz to 1 GHz, so that one tick can be 100 cycles. 0 returns at once.
inline void delay(unsigned wanted) {
  for (unsigned waited = 0; waited < wanted;) {
    pause();
    if (wanted - waited <= 16) break;
    waited += 16;
  }
}

/// The virtual counter of the generic timer, CNTVCT_EL0: the same on all cores, at the fixed rate CNTFRQ_EL0
/// (25 MHz to 1 GHz), not the core's clock. The ISB before it keeps it from being read ahead of earlier
/// instructions; the compiler moves no memory access across it.
inline std::uint64_t cycles() {
  std::uint64_t ticks;
  __asm__ __volatile__("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
  return ticks;
}

/// Sequentially consistent: every access before it is seen by all before any access after it.
inline void full_fence() {
#if defined(PHICOLL_THREAD_SANITIZER)
  sanitizer_full_fence();
#else
  __asm__ __volatile__("dmb ish" : : : "memory");
#endif
}

/// Every earlier access comes before any later store. Not DMB ISHST: that leaves earlier loads free to be
/// passed by a flag that lets others overwrite what was loaded.
inline void order_no_read_stores() {
  __asm__ __volatile__("dmb ish" : : : "memory");
}

/// A release that carries its data: words 1 to 7, then word 0 by STLR, after them and after every earlier
/// access.
inline void store_line_plain(void* line, const void* source) {
  store_words_then_flag(line, source);
}

/// A release at the line's end: words 0 to 6, then word 7.
inline void store_line_ascending(void* line, const void* source) {
  store_words_then_last(line, source);
}

/// The same as store_line_plain: see the head of the file.
inline void store_line_no_read(void* line, const void* source) {
  store_words_then_flag(line, source);
}

/// A whole line, not ordered with anything, not even its words among themselves: see arch.hpp.
inline void store_line_no_read_unordered(void* line, const void* source) {
  store_words_unordered(line, source);
}

/// This ISA has no string move to choose.
inline void copy_string(void* to, const void* from, std::size_t bytes) {
  __builtin_memcpy(to, from, bytes);
}

/// Data that another CPU reads next is stored like any other (memory/hand_over.hpp).
constexpr std::size_t hand_over_bytes = SIZE_MAX;

/// Whether evict_line drops the line from other cores' caches too.
constexpr bool evict_reaches_all_cores = true;

/// How far apart the flags of a group lie where its Shape does not say otherwise: some lines are 128 bytes.
constexpr std::size_t flag_stride_bytes = stride_bytes;

/// Writes the line back and drops it from the caches. Linux allows DC CIVAC to programs; a CPU whose lines
/// are longer than 64 bytes evicts all of the longer line.
inline void evict_line(const void* line) {
  __asm__ __volatile__("dc civac, %0\n\tdsb ish" : : "r"(line) : "memory");
}

/// A hint: brings the line for reading into the first-level cache. Any address is allowed.
inline void prefetch_line(const void* line) {
  __asm__ __volatile__("prfm pldl1keep, [%0]" : : "r"(line));
}

}  // namespace isa_aarch64
}  // namespace arch
}  // namespace phicoll
