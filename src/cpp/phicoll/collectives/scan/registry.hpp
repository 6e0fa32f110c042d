#pragma once

// Every scan there is, one line each.

#include "phicoll/collectives/scan/one_shot.hpp"

namespace phicoll {

using ScanList = AlgorithmList<OneShotScan>;

}  // namespace phicoll
