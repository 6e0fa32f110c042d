#pragma once

// What `auto` takes: by the group's tuning table, or else by the built-in rules (defaults.tuning).

#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

/// A parameter of a reduction's `auto`. With `yes` it takes only algorithms that combine the operands one by
/// one from rank 0 on, unless the operator gives the same bits in any order.
constexpr const char* reproducible_parameter = "reproducible";

/// The facts of a call that `spec` serves, with what the parameters of `auto` ask for.
CallFacts asked_of(const AlgorithmSpec& spec, CallFacts facts);

/// The choice for a call of any operation. For a barrier (default facts) it depends on the shape alone. The
/// algorithm's buffers take at most `most` bytes, if its parameters allow that. If the table's algorithm
/// cannot serve the call, the rules decide, and `why` says so.
AlgorithmChoice automatic_choice(const Shape& shape, const CallFacts& facts, std::size_t most = SIZE_MAX);

/// The choice by default_rules() alone.
AlgorithmChoice choose(const Shape& shape, const CallFacts& facts);

/// The spec, which was written as `text`. If it has `direct` and the text does not give it, with an in-place
/// row's values.
AlgorithmSpec with_direct(AlgorithmSpec spec, const Shape& shape, Operation operation,
                          const std::string& text);

/// The algorithm that serves such a call: `auto` resolved, with the values in effect for the shape. Throws
/// ArgumentError("algorithm") if the algorithm cannot serve it.
AlgorithmSpec in_effect(const AlgorithmSpec& spec, const Shape& shape, const CallFacts& facts,
                        std::size_t most = SIZE_MAX);

}  // namespace phicoll
