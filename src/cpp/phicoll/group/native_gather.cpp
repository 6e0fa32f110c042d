#include "phicoll/collectives/gather/registry.hpp"
#include "phicoll/group/native_collectives.hpp"

namespace phicoll {

NativeCollective make_native_gather(const AlgorithmSpec& spec, const Setup& setup) {
  return make_data<NativePort>(GatherList{}, spec, setup);
}

}  // namespace phicoll
