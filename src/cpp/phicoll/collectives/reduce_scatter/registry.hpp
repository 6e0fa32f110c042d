#pragma once

// Every reduce-scatter there is, one line each.

#include "phicoll/collectives/reduce_scatter/one_shot.hpp"

namespace phicoll {

using ReduceScatterList = AlgorithmList<OneShotReduceScatter>;

}  // namespace phicoll
