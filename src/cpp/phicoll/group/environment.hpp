#pragma once

// Algorithms that the environment chooses: PHICOLL_BROADCAST, PHICOLL_BARRIER and so on, for every
// communicator of the program.

#include <string>

#include "phicoll/collectives/contract/operation.hpp"
#include "phicoll/collectives/contract/spec.hpp"

namespace phicoll {

/// The environment's choice for an operation.
struct EnvironmentChoice {
  std::string variable;  ///< empty: nothing
  AlgorithmSpec spec;

  explicit operator bool() const { return !variable.empty(); }
  std::string why() const { return variable + " in the environment"; }
};

/// Throws ArgumentError naming a variable that would be ignored because it misspells an operation
/// (PHICOLL_BCAST, PHICOLL_ALL_REDUCE, PHICOLL_GATHERV, or one letter off).
void check_environment();
/// Throws ArgumentError that names the variable for a value that Family::parse refuses.
EnvironmentChoice environment_choice(Operation operation);

}  // namespace phicoll
