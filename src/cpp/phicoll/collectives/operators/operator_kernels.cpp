// The operators' loops for every processor of the architecture, and the choice among what it has beyond.

#include "phicoll/collectives/operators/operator_kernels.hpp"

#include "phicoll/arch/arch.hpp"
#include "phicoll/collectives/operators/operator_loops.hpp"

#if defined(__x86_64__) && !defined(PHICOLL_ARCH_K1OM)
#include <cpuid.h>
#endif

namespace phicoll {

Operator::Kernel find_kernel_baseline(Type type, Op op) {
  return kernel_here(type, op);
}

Operator::Kernel find_kernel(Type type, Op op) {
#if defined(__x86_64__) && !defined(PHICOLL_ARCH_K1OM)
  // The call also checks that the system saves the registers.
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    if (__builtin_cpu_supports("avx512bf16"))
      if (const auto kernel = find_kernel_avx512_bf16(type, op)) return kernel;
    if (const auto kernel = find_kernel_avx512(type, op)) return kernel;
  }
  unsigned a, b, c, d;
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  if (f16c && __builtin_cpu_supports("avx2"))
    if (const auto kernel = find_kernel_avx2(type, op)) return kernel;
#endif
  return find_kernel_baseline(type, op);
}

}  // namespace phicoll
