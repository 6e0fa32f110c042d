#pragma once

// What an operation's registry.hpp provides: its algorithms, and named sets of what papers tested.

#include <vector>

#include "phicoll/collectives/contract/operation.hpp"
#include "phicoll/collectives/contract/spec.hpp"

namespace phicoll {

/// An explicit list of algorithm types: every port and the tests expand it.
template <class... Algorithms>
struct AlgorithmList {};

/// Specialized for each operation by its registry.hpp: `using List = AlgorithmList<...>;`.
template <Operation operation>
struct Registry;

/// The operation's sets: what each paper tested, with its parameter values. Specialized in the operation's
/// sets.cpp where there are any.
template <Operation operation>
std::vector<AlgorithmSet> sets_of() {
  return {};
}
template <>
std::vector<AlgorithmSet> sets_of<Operation::barrier>();
template <>
std::vector<AlgorithmSet> sets_of<Operation::broadcast>();
template <>
std::vector<AlgorithmSet> sets_of<Operation::reduce>();
template <>
std::vector<AlgorithmSet> sets_of<Operation::allreduce>();

}  // namespace phicoll
