#include "phicoll/collectives/allreduce/registry.hpp"
#include "phicoll/group/native_collectives.hpp"

namespace phicoll {

NativeCollective make_native_allreduce(const AlgorithmSpec& spec, const Setup& setup) {
  return make_data<NativePort>(AllreduceList{}, spec, setup);
}

}  // namespace phicoll
