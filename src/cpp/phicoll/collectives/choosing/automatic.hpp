#pragma once

// What `auto` takes: what the group's tuning table says, else what the built-in rules say.

#include <cstddef>
#include <cstdint>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

/// For a call of any operation; a barrier's hangs on the shape alone. What it takes has buffers of at most
/// `most` bytes, as far as its parameters reach. A row whose algorithm cannot serve the call leaves it to the
/// rules, and `why` says so.
AlgorithmChoice automatic_choice(const Shape& shape, const CallFacts& facts, std::size_t most = SIZE_MAX);
AlgorithmChoice automatic_barrier(const Shape& shape, std::size_t most = SIZE_MAX);

}  // namespace phicoll
