#pragma once

// Algorithms as a simulated machine runs them: flags that own their lines are stored without reading them
// first where the text does not say how and the algorithm offers it (rodchenko-2015 section 4).

#include <string>
#include <vector>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {
namespace sim {

/// One algorithm. Throws as Family::parse.
AlgorithmSpec simulated_algorithm(Operation operation, const std::string& text);

/// Several, as Family::parse_list. Algorithms of other systems have no simulated form: the set `references`
/// is left out (`left_out` becomes true), one that is named is refused. Throws ArgumentError("algorithm") and
/// those of Family::parse.
std::vector<AlgorithmSpec> simulated_algorithms(Operation operation, const std::string& text, bool* left_out);

/// The algorithm that `auto` chose, which stores as if it were named.
AlgorithmSpec simulated_choice(Operation operation, const AlgorithmChoice& choice);

/// What serves such a call: `auto` resolved, the values in effect for the shape. Throws
/// ArgumentError("algorithm") if the algorithm cannot serve it.
AlgorithmSpec simulated_in_effect(const AlgorithmSpec& spec, const Shape& shape, const CallFacts& facts);

}  // namespace sim
}  // namespace phicoll
