#pragma once

// The rules of `auto`; automatic_choice() asks a tuning table first.

#include <string>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

AlgorithmChoice choose(const Shape& shape, const CallFacts& facts);
/// What the rules choose for a barrier, which depends on the shape alone.
AlgorithmChoice choose_barrier(const Shape& shape);

/// The algorithm of a text which does not say `direct`: with the rules' value, if it takes that parameter.
AlgorithmSpec with_direct(AlgorithmSpec spec, const Shape& shape, Operation operation,
                          const std::string& text);

}  // namespace phicoll
