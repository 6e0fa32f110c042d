#pragma once

// All allgather algorithms, one line each.

#include "phicoll/collectives/allgather/one_shot.hpp"
#include "phicoll/collectives/allgather/single_copy.hpp"
#include "phicoll/collectives/contract/algorithm_list.hpp"

namespace phicoll {

template <>
struct Registry<Operation::allgather> {
  using List = AlgorithmList<OneShotAllgather, SingleCopyAllgather>;
};

}  // namespace phicoll
