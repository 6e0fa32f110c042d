#pragma once

// Named sets of allreduce algorithms: what each paper tested, with its parameter values.

#include <vector>

#include "phicoll/collectives/contract/spec.hpp"

namespace phicoll {

const std::vector<AlgorithmSet>& allreduce_sets();

}  // namespace phicoll
