#pragma once

// All reduce-scatter algorithms, one line each.

#include "phicoll/collectives/contract/algorithm_list.hpp"
#include "phicoll/collectives/reduce_scatter/one_shot.hpp"
#include "phicoll/collectives/reduce_scatter/pairwise.hpp"
#include "phicoll/collectives/reduce_scatter/recursive_halving.hpp"

namespace phicoll {

template <>
struct Registry<Operation::reduce_scatter> {
  using List = AlgorithmList<PairwiseReduceScatter,          //
                             RecursiveHalvingReduceScatter,  //
                             OneShotReduceScatter>;
};

}  // namespace phicoll
