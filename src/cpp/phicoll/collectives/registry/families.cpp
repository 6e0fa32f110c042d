// The families of the operations that move data, from their registries.

#include "phicoll/collectives/allgather/registry.hpp"
#include "phicoll/collectives/allreduce/registry.hpp"
#include "phicoll/collectives/allreduce/sets.hpp"
#include "phicoll/collectives/alltoall/registry.hpp"
#include "phicoll/collectives/barrier/barrier.hpp"
#include "phicoll/collectives/broadcast/registry.hpp"
#include "phicoll/collectives/broadcast/sets.hpp"
#include "phicoll/collectives/gather/registry.hpp"
#include "phicoll/collectives/reduce/registry.hpp"
#include "phicoll/collectives/reduce/sets.hpp"
#include "phicoll/collectives/reduce_scatter/registry.hpp"
#include "phicoll/collectives/registry/entries.hpp"
#include "phicoll/collectives/scan/registry.hpp"
#include "phicoll/collectives/scatter/registry.hpp"

namespace phicoll {

namespace {

template <class List>
Family data_family(Operation operation, const std::vector<AlgorithmSet>& sets = {}) {
  return Family(operation, data_entries(List{}), sets);
}

}  // namespace

const Family& family(Operation operation) {
  static const Family for_broadcast = data_family<BroadcastList>(Operation::broadcast, broadcast_sets());
  static const Family for_reduce = data_family<ReduceList>(Operation::reduce, reduce_sets());
  static const Family for_allreduce = data_family<AllreduceList>(Operation::allreduce, allreduce_sets());
  static const Family for_gather = data_family<GatherList>(Operation::gather);
  static const Family for_scatter = data_family<ScatterList>(Operation::scatter);
  static const Family for_allgather = data_family<AllgatherList>(Operation::allgather);
  static const Family for_alltoall = data_family<AlltoallList>(Operation::alltoall);
  static const Family for_scan = data_family<ScanList>(Operation::scan);
  static const Family for_reduce_scatter = data_family<ReduceScatterList>(Operation::reduce_scatter);
  switch (operation) {
    case Operation::barrier:
      break;
    case Operation::broadcast:
      return for_broadcast;
    case Operation::reduce:
      return for_reduce;
    case Operation::allreduce:
      return for_allreduce;
    case Operation::gather:
      return for_gather;
    case Operation::scatter:
      return for_scatter;
    case Operation::allgather:
      return for_allgather;
    case Operation::alltoall:
      return for_alltoall;
    case Operation::scan:
      return for_scan;
    case Operation::reduce_scatter:
      return for_reduce_scatter;
  }
  return barrier_family();
}

}  // namespace phicoll
