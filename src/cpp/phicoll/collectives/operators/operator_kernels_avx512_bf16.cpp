// Sums and products of bfloat16 for x86-64 processors with AVX-512 and AVX512-BF16, where the build compiles
// this file for it.

#include "phicoll/collectives/operators/operator_kernels.hpp"

#if defined(__AVX512BF16__) && defined(__AVX512BW__) && defined(__AVX512DQ__)
#include "phicoll/collectives/operators/operator_loops.hpp"

namespace phicoll {
Operator::Kernel find_kernel_avx512_bf16(Type type, Op op) {
  return type == Type::bfloat16 && (op == Op::sum || op == Op::prod) ? kernel_here(type, op) : nullptr;
}
}  // namespace phicoll
#else
namespace phicoll {
Operator::Kernel find_kernel_avx512_bf16(Type, Op) {
  return nullptr;
}
}  // namespace phicoll
#endif
