#pragma once

// Every broadcast there is, one line each.

#include "phicoll/collectives/broadcast/ring.hpp"

namespace phicoll {

using BroadcastList = AlgorithmList<RingBroadcast>;

}  // namespace phicoll
