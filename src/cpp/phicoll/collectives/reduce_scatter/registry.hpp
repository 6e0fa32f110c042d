#pragma once

// Every reduce-scatter there is, one line each.

#include "phicoll/collectives/reduce_scatter/one_shot.hpp"
#include "phicoll/collectives/reduce_scatter/pairwise.hpp"
#include "phicoll/collectives/reduce_scatter/recursive_halving.hpp"

namespace phicoll {

using ReduceScatterList = AlgorithmList<PairwiseReduceScatter,          //
                                        RecursiveHalvingReduceScatter,  //
                                        OneShotReduceScatter>;

}  // namespace phicoll
