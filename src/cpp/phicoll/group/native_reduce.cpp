#include "phicoll/collectives/reduce/registry.hpp"
#include "phicoll/group/native_collectives.hpp"

namespace phicoll {

NativeCollective make_native_reduce(const AlgorithmSpec& spec, const Setup& setup) {
  return make_data<NativePort>(ReduceList{}, spec, setup);
}

}  // namespace phicoll
