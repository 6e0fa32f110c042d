#pragma once

// What the built-in rules choose (defaults.tuning); automatic_choice() asks a group's tuning table first.

#include <cstddef>
#include <string>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

/// The choice by default_rules().
AlgorithmChoice choose(const Shape& shape, const CallFacts& facts);

/// The algorithm in `text`; if it takes `direct` and `text` does not give it, with an in-place row's values.
AlgorithmSpec with_direct(AlgorithmSpec spec, const Shape& shape, Operation operation,
                          const std::string& text);

}  // namespace phicoll
