#pragma once

// What differs from one instruction set to the next: line sizes, the polite spin turn, whole-line stores,
// cache control, the cycle counter. One file an ISA, all header-only, all integer-only, chosen here.
// Everything above this folder is the same source on every machine.
//
// Whole-line stores, and what becomes visible when. A line is 64 aligned bytes with one writer; a whole-line
// store destroys whatever anyone else put in it. "The flag" is word 0, the first 8 bytes.
//
// - store_line_plain: a release. A reader that acquires word 0 sees words 1 to 7 and every earlier ordinary
//   store of the writer.
// - store_line_ascending: a release of another shape, for a copy whose arrival its own end announces: a
//   reader that acquires word 7 sees words 0 to 6 and every earlier ordinary store of the writer.
// - store_line_no_read: the promise of store_line_plain, by stores that do not first read the line from its
//   owner. Earlier *unordered* line stores are not covered: order_no_read_stores() stands between.
// - store_line_no_read_unordered: no promise at all, neither about earlier stores nor that word 0 comes last.
//   For message data, whose arrival a later flag announces:
//       store_line_no_read_unordered(data, source);  // any number of these
//       order_no_read_stores();
//       flag.store(episode, release);                // or a line store that carries the flag
//   A flag that is itself stored so wants order_no_read_stores() on both sides: in front for the release,
//   after it to be seen soon and before whatever comes next.
// - order_no_read_stores: every access before it, line stores included, comes before any store after it.
//
// Lines handed to the line stores are aligned to line_bytes; a source may have any alignment and may not
// overlap the line. The writer's own later loads see its own line stores on every ISA.

#include <cstddef>
#include <cstdint>

namespace phicoll {
namespace arch {

/// The unit of coherence in bytes, and of whole-line stores, on every machine phicoll knows.
constexpr std::size_t line_bytes = 64;

/// The distance in bytes that keeps two ranks' data apart: x86 prefetches lines in pairs, some aarch64 lines
/// are 128.
constexpr std::size_t stride_bytes = 128;

/// `bytes` rounded up to whole lines, and to whole strides, so that what follows has lines of its own.
constexpr std::size_t whole_lines(std::size_t bytes) {
  return (bytes + line_bytes - 1) / line_bytes * line_bytes;
}
constexpr std::size_t whole_strides(std::size_t bytes) {
  return (bytes + stride_bytes - 1) / stride_bytes * stride_bytes;
}

}  // namespace arch
}  // namespace phicoll

// PHICOLL_ARCH_K1OM: this is code for the card. The card's compilers (GCC: __KNC__ and __k1om__; ICC: __MIC__) also define
// __x86_64__, so it is asked for first. Tests and audits define it themselves on an x86-64 host, where the card's
// instructions are illegal.
#if defined(__KNC__) || defined(__k1om__) || defined(__MIC__)
#define PHICOLL_K1OM_COMPILER 1
#define PHICOLL_ARCH_K1OM 1
#endif

#if defined(PHICOLL_ARCH_K1OM)
#include "phicoll/arch/k1om.hpp"
#elif defined(__x86_64__)
#include "phicoll/arch/x86_64.hpp"
#elif defined(__aarch64__)
#include "phicoll/arch/aarch64.hpp"
#else
#error \
    "phicoll knows x86_64, aarch64 and k1om (Xeon Phi Knights Corner); add a file to phicoll/arch for this machine."
#endif
