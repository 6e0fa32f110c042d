#include "phicoll/group/native_collectives.hpp"

#include "phicoll/errors.hpp"

namespace phicoll {

NativeCollective make_native(Operation operation, const AlgorithmSpec& spec, const Setup& setup) {
  switch (operation) {
    case Operation::barrier:
      break;
    case Operation::broadcast:
      return make_native_broadcast(spec, setup);
    case Operation::reduce:
      return make_native_reduce(spec, setup);
    case Operation::allreduce:
      return make_native_allreduce(spec, setup);
    case Operation::gather:
      return make_native_gather(spec, setup);
    case Operation::scatter:
      return make_native_scatter(spec, setup);
    case Operation::allgather:
      return make_native_allgather(spec, setup);
    case Operation::alltoall:
      return make_native_alltoall(spec, setup);
    case Operation::scan:
      return make_native_scan(spec, setup);
    case Operation::reduce_scatter:
      return make_native_reduce_scatter(spec, setup);
  }
  throw ArgumentError("operation", to_string(operation), "one that moves data");
}

}  // namespace phicoll
