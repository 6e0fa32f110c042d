#include "phicoll/collectives/reduce_scatter/registry.hpp"
#include "phicoll/group/native_collectives.hpp"

namespace phicoll {

NativeCollective make_native_reduce_scatter(const AlgorithmSpec& spec, const Setup& setup) {
  return make_data<NativePort>(ReduceScatterList{}, spec, setup);
}

}  // namespace phicoll
