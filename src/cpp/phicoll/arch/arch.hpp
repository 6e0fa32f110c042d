#pragma once

// What differs between instruction sets: line sizes, the polite spin turn, whole-line stores, cache control,
// the cycle counter. One header-only, integer-only file per ISA, chosen here. All source above this folder is
// the same on every machine.
//
// The whole-line stores promise different things; their contracts stand below.

#include <cstddef>
#include <cstdint>

namespace phicoll {
namespace arch {

/// The unit of coherence in bytes, and of whole-line stores, on every machine phicoll knows.
constexpr std::size_t line_bytes = 64;

// Whole-line stores, and what they make visible. A line is 64 aligned bytes with one writer; a whole-line
// store destroys whatever anyone else put there. The flag is word 0. The writer's
// loads see its line stores.
//
// - store_line_plain: a release. A reader that acquires word 0 sees words 1 to 7 and every earlier ordinary
//   store of the writer.
// - store_line_ascending: the same at the line's end, when a reader acquires word 7.
// - store_line_no_read: store_line_plain by stores that do not first read the line from its owner. Earlier
//   unordered line stores need order_no_read_stores() between.

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

// - store_line_no_read_unordered: no promise, neither about earlier stores nor that word 0 comes last. For
//   message data that a later flag announces:
//     store_line_no_read_unordered(data, source);  // any number of these
//     order_no_read_stores();
//     flag.store(episode, release);                // or a line store that carries the flag
//   A flag that is itself stored this way needs order_no_read_stores() before it, for the release, and after
//   it, to be seen soon and before later stores.
// - order_no_read_stores: every access before it, line stores too, comes before any store after it.
//
// Lines are aligned to line_bytes; a source has any alignment and does not overlap the line.

// PHICOLL_ARCH_K1OM: this is code for the card. The card's compilers (GCC: __KNC__ and __k1om__; ICC:
// __MIC__) also define __x86_64__, so it is asked for first. Tests and audits define it themselves on an
// x86-64 host, where the card's instructions are illegal.
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
