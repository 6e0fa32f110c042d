#pragma once

// Named sets of broadcasts: what each paper tested, with its parameter values.

#include <vector>

#include "phicoll/collectives/contract/spec.hpp"

namespace phicoll {

const std::vector<AlgorithmSet>& broadcast_sets();

}  // namespace phicoll
