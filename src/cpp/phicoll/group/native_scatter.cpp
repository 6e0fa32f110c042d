#include "phicoll/collectives/scatter/registry.hpp"
#include "phicoll/group/native_collectives.hpp"

namespace phicoll {

NativeCollective make_native_scatter(const AlgorithmSpec& spec, const Setup& setup) {
  return make_data<NativePort>(ScatterList{}, spec, setup);
}

}  // namespace phicoll
