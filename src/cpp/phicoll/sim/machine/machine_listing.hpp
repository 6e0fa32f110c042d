#pragma once

// Lists a machine's parameters with value, meaning and origin.

#include <string>
#include <vector>

#include "phicoll/sim/machine/machine.hpp"
#include "phicoll/sim/machine/machine_parameters.hpp"

namespace phicoll {
namespace sim {

struct MachineListing {
  const MachineParameterInfo* info = nullptr;
  std::string value;
  std::string kind;    ///< as in Evidence; `default` where the machine's file leaves the parameter out
  std::string source;  ///< empty then
};

/// The parameters that the machine has, in the order of description.
std::vector<MachineListing> machine_listing(const Machine& machine);

}  // namespace sim
}  // namespace phicoll
