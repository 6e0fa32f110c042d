#pragma once

// What `auto` takes: by the group's tuning table, or else by the built-in rules.

#include <cstddef>
#include <cstdint>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

/// For a call of any operation; for a barrier (the facts as they are by default) it depends on the shape alone. The
/// algorithm's buffers take at most `most` bytes, as far as its parameters reach. Where the table's algorithm cannot
/// serve the call the rules decide, and `why` says so.
AlgorithmChoice automatic_choice(const Shape& shape, const CallFacts& facts, std::size_t most = SIZE_MAX);

/// What serves such a call: `auto` resolved, the values in effect for the shape. Throws ArgumentError("algorithm")
/// if the algorithm cannot serve it.
AlgorithmSpec in_effect(const AlgorithmSpec& spec, const Shape& shape, const CallFacts& facts,
                        std::size_t most = SIZE_MAX);

}  // namespace phicoll
