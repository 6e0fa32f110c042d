#include "phicoll/group/native_collectives.hpp"

#include "phicoll/errors.hpp"

namespace phicoll {

NativeCollective make_native(Operation operation, const AlgorithmSpec& spec, const Setup& setup) {
  switch (operation) {
    case Operation::broadcast:
      return make_native_broadcast(spec, setup);
    case Operation::allreduce:
      return make_native_allreduce(spec, setup);
    default:
      break;
  }
  throw ArgumentError("operation", to_string(operation), "one that moves data");
}

}  // namespace phicoll
