#include "phicoll/collectives/broadcast/registry.hpp"
#include "phicoll/group/native_collectives.hpp"

namespace phicoll {

NativeCollective make_native_broadcast(const AlgorithmSpec& spec, const Setup& setup) {
  return make_data<NativePort>(BroadcastList{}, spec, setup);
}

}  // namespace phicoll
