#pragma once

// Every allreduce there is, one line each.

#include "phicoll/collectives/allreduce/one_shot.hpp"

namespace phicoll {

using AllreduceList = AlgorithmList<OneShotAllreduce>;

}  // namespace phicoll
