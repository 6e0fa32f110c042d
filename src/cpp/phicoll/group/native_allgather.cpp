#include "phicoll/collectives/allgather/registry.hpp"
#include "phicoll/group/native_collectives.hpp"

namespace phicoll {

NativeCollective make_native_allgather(const AlgorithmSpec& spec, const Setup& setup) {
  return make_data<NativePort>(AllgatherList{}, spec, setup);
}

}  // namespace phicoll
