#pragma once

// All scan algorithms, one line each.

#include "phicoll/collectives/contract/algorithm_list.hpp"
#include "phicoll/collectives/scan/linear.hpp"
#include "phicoll/collectives/scan/one_shot.hpp"
#include "phicoll/collectives/scan/recursive_doubling.hpp"

namespace phicoll {

template <>
struct Registry<Operation::scan> {
  using List = AlgorithmList<LinearScan,             //
                             RecursiveDoublingScan,  //
                             OneShotScan>;
};

}  // namespace phicoll
