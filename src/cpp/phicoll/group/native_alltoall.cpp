#include "phicoll/collectives/alltoall/registry.hpp"
#include "phicoll/group/native_collectives.hpp"

namespace phicoll {

NativeCollective make_native_alltoall(const AlgorithmSpec& spec, const Setup& setup) {
  return make_data<NativePort>(AlltoallList{}, spec, setup);
}

}  // namespace phicoll
