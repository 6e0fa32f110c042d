// Every barrier of the registry on NativePort: the one place that instantiates them.

#include "phicoll/collectives/barrier/make.hpp"
#include "phicoll/memory/native_port.hpp"

namespace phicoll {

std::unique_ptr<AnyBarrier<NativePort>> make_native_barrier(const AlgorithmSpec& spec, const Setup& setup) {
  return make_barrier<NativePort>(spec, setup);
}

}  // namespace phicoll
