// The operators' loops for x86-64 processors with AVX2, where the build compiles this file for it.

#include "phicoll/collectives/operators/operator_kernels.hpp"

#if defined(__AVX2__)
#include "phicoll/collectives/operators/operator_loops.hpp"

namespace phicoll {
Operator::Kernel find_kernel_avx2(Type type, Op op) {
  return kernel_here(type, op);
}
}  // namespace phicoll
#else
namespace phicoll {
Operator::Kernel find_kernel_avx2(Type, Op) {
  return nullptr;
}
}  // namespace phicoll
#endif
