#pragma once

// All allreduce algorithms, one line each.

#include "phicoll/collectives/allreduce/bruck.hpp"
#include "phicoll/collectives/allreduce/flat_tree.hpp"
#include "phicoll/collectives/allreduce/hierarchical.hpp"
#include "phicoll/collectives/allreduce/one_shot.hpp"
#include "phicoll/collectives/allreduce/paper_003.hpp"
#include "phicoll/collectives/allreduce/rabenseifner.hpp"
#include "phicoll/collectives/allreduce/recursive_doubling.hpp"
#include "phicoll/collectives/allreduce/reduce_broadcast.hpp"
#include "phicoll/collectives/allreduce/sliced.hpp"
#include "phicoll/collectives/contract/algorithm_list.hpp"

namespace phicoll {

template <>
struct Registry<Operation::allreduce> {
  using List = AlgorithmList<FlatTreeAllreduce,  //
                             RecursiveDoubling,  //
                             BruckAllreduce,     //
                             Rabenseifner,       //
                             AllReadsAll,        //
                             Paper003Allreduce,  //
                             ReduceBroadcast,    //
                             OneShotAllreduce,   //
                             SlicedAllreduce, HierarchicalAllreduce>;
};

}  // namespace phicoll
