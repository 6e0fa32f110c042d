// The operators' loops for x86-64 processors with AVX-512 (F, BW, DQ, VL), where the build compiles this file
// for it.

#include "phicoll/collectives/operators/operator_kernels.hpp"

#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#include "phicoll/collectives/operators/operator_loops.hpp"

namespace phicoll {
Operator::Kernel find_kernel_avx512(Type type, Op op) {
  // gcc 12 fuses the vectorised product of complex numbers (vfmaddsub) even where it is told not to, and with
  // AVX-512 that cannot be switched off. The last elements, done one by one, would get other bits.
  if (op == Op::prod && (type == Type::complex64 || type == Type::complex128))
    return find_kernel_avx2(type, op);
  return kernel_here(type, op);
}
}  // namespace phicoll
#else
namespace phicoll {
Operator::Kernel find_kernel_avx512(Type, Op) {
  return nullptr;
}
}  // namespace phicoll
#endif
