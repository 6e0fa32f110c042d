#pragma once

// The instructions of Xeon Phi Knights Corner, emitted as bytes: GCC for k1om has no intrinsics for them and
// ordinary assemblers do not know them. Compiles on any x86-64 host, so that tests can decode these bytes
// and, under an emulator, execute them; a host itself refuses each.
//
// Memory operands are (rdi) with a 32-bit displacement of 0, since the 8-bit form of a vector instruction is
// scaled by the operand. Lines and sources are aligned to 64 bytes: the card refuses others. A load and its
// store are one assembly statement, so that nothing touches zmm0 between them.

#include <cstdint>

// zmm0 overlays xmm0. The card's compilers keep doubles there, though they define no __SSE__. A host's
// compiler without SSE (-mno-sse) never uses the register and has no such name to clobber.
#if defined(__SSE__) || defined(PHICOLL_K1OM_COMPILER)
#define PHICOLL_K1OM_CLOBBERS "xmm0", "memory"
#else
#define PHICOLL_K1OM_CLOBBERS "memory"
#endif

#define PHICOLL_K1OM_DELAY_EAX ".byte 0xc5, 0xfa, 0xae, 0xf0"
#define PHICOLL_K1OM_CLEVICT0_RDI ".byte 0xc5, 0xfb, 0xae, 0x3f"
#define PHICOLL_K1OM_CLEVICT1_RDI ".byte 0xc5, 0xfa, 0xae, 0x3f"
#define PHICOLL_K1OM_VPREFETCH0_RDI ".byte 0xc5, 0xf8, 0x18, 0x0f"
#define PHICOLL_K1OM_VPREFETCHE0_RDI ".byte 0xc5, 0xf8, 0x18, 0x2f"
#define PHICOLL_K1OM_VMOVAPS_ZMM0_RDI ".byte 0x62, 0xf1, 0x78, 0x08, 0x28, 0x87, 0, 0, 0, 0"
#define PHICOLL_K1OM_VMOVAPS_RDI_ZMM0 ".byte 0x62, 0xf1, 0x78, 0x08, 0x29, 0x87, 0, 0, 0, 0"
#define PHICOLL_K1OM_VMOVNRAPS_RDI_ZMM0 ".byte 0x62, 0xf1, 0x7b, 0x08, 0x29, 0x87, 0, 0, 0, 0"
#define PHICOLL_K1OM_VMOVNRNGOAPS_RDI_ZMM0 ".byte 0x62, 0xf1, 0x7b, 0x88, 0x29, 0x87, 0, 0, 0, 0"

namespace phicoll {
namespace arch {
// All are inlined even without optimisation: the tests read the functions' code.
namespace k1om_bytes {

/// `delay eax`: this hardware thread issues nothing for that many cycles, its siblings take the slots. A hint
/// that an interrupt ends early.
[[gnu::always_inline]] inline void delay(std::uint32_t cycles) {
  __asm__ __volatile__(PHICOLL_K1OM_DELAY_EAX : : "a"(cycles) : "memory");
}

/// `vmovaps` both ways: the whole line in one ordinary store.
[[gnu::always_inline]] inline void copy_line(void* line, const void* source) {
  __asm__ __volatile__(PHICOLL_K1OM_VMOVAPS_ZMM0_RDI "\n\tmovq %1, %%rdi\n\t" PHICOLL_K1OM_VMOVAPS_RDI_ZMM0
                       : "+D"(source)
                       : "r"(line)
                       : PHICOLL_K1OM_CLOBBERS);
}

/// `vmovnraps`: the whole line in one store that does not read it, in program order with all other stores.
[[gnu::always_inline]] inline void copy_line_no_read(void* line, const void* source) {
  __asm__ __volatile__(PHICOLL_K1OM_VMOVAPS_ZMM0_RDI "\n\tmovq %1, %%rdi\n\t" PHICOLL_K1OM_VMOVNRAPS_RDI_ZMM0
                       : "+D"(source)
                       : "r"(line)
                       : PHICOLL_K1OM_CLOBBERS);
}

/// `vmovnrngoaps`: the same without a place in the order of stores (NGO: not globally ordered).
[[gnu::always_inline]] inline void copy_line_no_read_unordered(void* line, const void* source) {
  __asm__ __volatile__(PHICOLL_K1OM_VMOVAPS_ZMM0_RDI
                       "\n\tmovq %1, %%rdi\n\t" PHICOLL_K1OM_VMOVNRNGOAPS_RDI_ZMM0
                       : "+D"(source)
                       : "r"(line)
                       : PHICOLL_K1OM_CLOBBERS);
}

/// `clevict0` then `clevict1`: out of this core's first-level, then its second-level cache; modified data go
/// to memory.
[[gnu::always_inline]] inline void evict(const void* line) {
  __asm__ __volatile__(PHICOLL_K1OM_CLEVICT0_RDI "\n\t" PHICOLL_K1OM_CLEVICT1_RDI : : "D"(line) : "memory");
}

/// `vprefetch0`: into the first-level cache, for reading.
[[gnu::always_inline]] inline void prefetch(const void* line) {
  __asm__ __volatile__(PHICOLL_K1OM_VPREFETCH0_RDI : : "D"(line));
}

/// `vprefetche0`: into the first-level cache, for writing (the other copies are dropped).
[[gnu::always_inline]] inline void prefetch_exclusive(const void* line) {
  __asm__ __volatile__(PHICOLL_K1OM_VPREFETCHE0_RDI : : "D"(line));
}

}  // namespace k1om_bytes
}  // namespace arch
}  // namespace phicoll
