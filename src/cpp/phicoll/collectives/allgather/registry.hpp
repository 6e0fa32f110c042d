#pragma once

// Every allgather there is, one line each.

#include "phicoll/collectives/allgather/one_shot.hpp"
#include "phicoll/collectives/allgather/single_copy.hpp"

namespace phicoll {

using AllgatherList = AlgorithmList<OneShotAllgather, SingleCopyAllgather>;

}  // namespace phicoll
