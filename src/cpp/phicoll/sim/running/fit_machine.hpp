#pragma once

// Makes a machine file of protocol `table` from what kernels measured on a host.

#include <string>

#include "phicoll/sim/machine/host_costs.hpp"
#include "phicoll/sim/machine/machine.hpp"

namespace phicoll {
namespace sim {

/// Every parameter with its evidence: `measured` where `costs` has a measurement, `assumed` where not, with
/// the machine that it is taken from. The cost of a line that two cores share is set so that a word handed
/// over between two cores takes, simulated, what it took measured. Throws ArgumentError("name") as
/// check_new_machine_name does, ArgumentError("machine") if a value cannot be in a machine file, such as more
/// cores than a simulated machine has.
Machine fit_machine(const HostCosts& costs, const std::string& name);

/// Throws ArgumentError("name") for a name that no machine can have or that a shipped one has. Call it before
/// measuring.
void check_new_machine_name(const std::string& name);

/// The simulated one-way time of a word between two cores of a package, in nanoseconds: the counterpart of
/// HostCosts::hand_over. The machine has two cores or more.
double simulated_hand_over_ns(const Machine& machine);

}  // namespace sim
}  // namespace phicoll
