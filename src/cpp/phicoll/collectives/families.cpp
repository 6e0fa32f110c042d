// The families of the operations that move data, from their registries.

#include "phicoll/collectives/allreduce/registry.hpp"
#include "phicoll/collectives/barrier/barrier.hpp"
#include "phicoll/collectives/broadcast/registry.hpp"
#include "phicoll/collectives/entries.hpp"
#include "phicoll/errors.hpp"

namespace phicoll {

namespace {

template <class List>
Family data_family(Operation operation) {
  return Family(operation, data_entries(List{}), {});
}

}  // namespace

const Family& family(Operation operation) {
  static const Family broadcasts = data_family<BroadcastList>(Operation::broadcast);
  static const Family allreduces = data_family<AllreduceList>(Operation::allreduce);
  switch (operation) {
    case Operation::barrier:
      return barrier_family();
    case Operation::broadcast:
      return broadcasts;
    case Operation::allreduce:
      return allreduces;
    default:
      break;
  }
  throw ArgumentError("operation", to_string(operation), "an operation with algorithms");
}

}  // namespace phicoll
