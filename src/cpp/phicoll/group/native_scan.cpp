#include "phicoll/collectives/scan/registry.hpp"
#include "phicoll/group/native_collectives.hpp"

namespace phicoll {

NativeCollective make_native_scan(const AlgorithmSpec& spec, const Setup& setup) {
  return make_data<NativePort>(ScanList{}, spec, setup);
}

}  // namespace phicoll
