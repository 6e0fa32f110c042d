#pragma once

// Every allreduce there is, one line each.

#include "phicoll/collectives/allreduce/one_shot.hpp"
#include "phicoll/collectives/allreduce/sliced.hpp"

namespace phicoll {

using AllreduceList = AlgorithmList<OneShotAllreduce, SlicedAllreduce>;

}  // namespace phicoll
