#pragma once

// The algorithms of each operation on NativePort: one source file an operation instantiates them.

#include <memory>

#include "phicoll/collectives/registry/make.hpp"
#include "phicoll/memory/native_port.hpp"

namespace phicoll {

using NativeCollective = std::unique_ptr<AnyCollective<NativePort>>;

NativeCollective make_native_broadcast(const AlgorithmSpec& spec, const Setup& setup);
NativeCollective make_native_reduce(const AlgorithmSpec& spec, const Setup& setup);
NativeCollective make_native_allreduce(const AlgorithmSpec& spec, const Setup& setup);
NativeCollective make_native_gather(const AlgorithmSpec& spec, const Setup& setup);
NativeCollective make_native_scatter(const AlgorithmSpec& spec, const Setup& setup);
NativeCollective make_native_allgather(const AlgorithmSpec& spec, const Setup& setup);
NativeCollective make_native_alltoall(const AlgorithmSpec& spec, const Setup& setup);
NativeCollective make_native_scan(const AlgorithmSpec& spec, const Setup& setup);
NativeCollective make_native_reduce_scatter(const AlgorithmSpec& spec, const Setup& setup);

/// For any operation that moves data. `spec` is not `auto`.
NativeCollective make_native(Operation operation, const AlgorithmSpec& spec, const Setup& setup);

}  // namespace phicoll
