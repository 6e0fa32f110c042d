#pragma once

// Every allgather there is, one line each.

#include "phicoll/collectives/allgather/one_shot.hpp"

namespace phicoll {

using AllgatherList = AlgorithmList<OneShotAllgather>;

}  // namespace phicoll
