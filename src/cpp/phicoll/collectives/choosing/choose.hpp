#pragma once

// What the rules of `auto` choose (rules.hpp); automatic_choice() asks a tuning table first.

#include <cstddef>
#include <string>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

/// An algorithm's text with a ring of `ring` bytes in cells of `cell` bytes: "ring:cell=65536:cells=32" for "ring:cell=",
/// 64 KB and 2 MB. The number of cells is the nearest that the algorithm allows.
std::string with_cells(Operation operation, const std::string& beginning, std::size_t cell, std::size_t ring);

AlgorithmChoice choose(const Shape& shape, const CallFacts& facts);

/// The algorithm in `text`; if it takes `direct` and `text` does not give it, with the rules' value.
AlgorithmSpec with_direct(AlgorithmSpec spec, const Shape& shape, Operation operation,
                          const std::string& text);

}  // namespace phicoll
