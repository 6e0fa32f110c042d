#pragma once

// The loops of the operators, compiled once for each vector instruction set that a processor may have.

#include "phicoll/collectives/operators/operators.hpp"

namespace phicoll {

/// The kernel of a pairing that fits (null of others), for the best instruction set of this processor.
Operator::Kernel find_kernel(Type type, Op op);

/// The kernels of one instruction set, null where the file was not compiled for it. All compute the same.
Operator::Kernel find_kernel_baseline(Type type, Op op);
Operator::Kernel find_kernel_avx2(Type type, Op op);
Operator::Kernel find_kernel_avx512(Type type, Op op);
/// Null of pairings that it does not make faster.
Operator::Kernel find_kernel_avx512_bf16(Type type, Op op);

}  // namespace phicoll
