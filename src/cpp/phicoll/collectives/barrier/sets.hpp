#pragma once

// Named sets of barriers: what each paper tested, with its parameter values.

#include <vector>

#include "phicoll/collectives/contract/spec.hpp"

namespace phicoll {

const std::vector<AlgorithmSet>& all_barrier_sets();

}  // namespace phicoll
