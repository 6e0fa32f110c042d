#pragma once

// Named sets of reduce algorithms: what each paper tested, with its parameter values.

#include <vector>

#include "phicoll/collectives/contract/spec.hpp"

namespace phicoll {

const std::vector<AlgorithmSet>& reduce_sets();

}  // namespace phicoll
