#pragma once

// CPUs of this machine by their distance from each other: what `where` may be besides a placement.

#include <string>
#include <vector>

#include "phicoll/os/topology.hpp"

namespace phicoll {
namespace kernels {

/// same-cpu (all ranks on one), same-core (two hardware threads of a core), same-l3 (two cores under one
/// last-level cache), other-l3 (of one package), other-package, across-packages (half of the ranks in each of
/// two packages).
const std::vector<std::string>& host_places();

/// A CPU for each rank, out of `cpus`: the second is at `where` from the first; a third, which helps with
/// shared lines, is on the nearest core of its own. Throws ArgumentError: "where" for a place that these CPUs
/// do not have, with those that they have; "ranks" for more than the place takes.
std::vector<int> cpus_at(const std::vector<os::CpuPlace>& cpus, const std::string& where, int ranks);

/// The placement (GroupOptions) that `where` means on the CPUs that this process may use: a list of CPUs for
/// a place, else `where` itself. Throws ArgumentError("where") for what is neither, and as cpus_at.
std::string placement_at(const std::string& where, int ranks);

}  // namespace kernels
}  // namespace phicoll
