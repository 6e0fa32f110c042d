#pragma once

// The costs of this machine's cores, caches and lines, from which a machine file is made.

#include <cstdint>
#include <string>

namespace phicoll {
namespace sim {

/// A measured time; `ns` is negative where this machine or its allowed CPUs cannot show it.
struct HostCost {
  double ns = -1;                    ///< median of the launches
  double low_ns = -1, high_ns = -1;  ///< fastest and slowest launch
  std::string how;                   ///< what was measured, and on which CPUs

  bool known() const { return ns >= 0; }
};

/// measure_host_costs measures what needs only a core, and the handing over of a word. Reads of lines are set
/// by a caller that has the kernels' samples; until then they are unknown.
struct HostCosts {
  std::string cpu;  ///< the maker's model name
  std::string date;
  int cores = 1, contexts_per_core = 1, packages = 1;
  int clock_mhz = 1000;
  bool clock_is_counter = false;                         ///< else a cycle is a nanosecond here
  int l1_kib = 0, l1_ways = 0, l2_kib = 0, l2_ways = 0;  ///< 0 where the system does not say

  HostCost l1_hit, l2_hit;  ///< dependent reads
  HostCost atomic, pause;   ///< a locked update of a line that is in the cache; a polite turn
  HostCost combine;         ///< adding a line of floats to another one, both in the first level
  HostCost near_modified, near_exclusive, near_shared;  ///< reads from another core of the package
  HostCost far_modified, far_exclusive, far_shared;     ///< and of another package
  HostCost memory;
  HostCost hand_over;  ///< one way of a word that two cores of a package hand to each other

  /// The cost with this name, nullptr if there is none.
  const HostCost* find(const std::string& name) const;
  HostCost* find(const std::string& name);
};

struct HostCostOptions {
  int launches = 7;     ///< of each measurement, with new threads
  double budget_s = 5;  ///< once it is used up, each remaining measurement is launched once
  std::uint64_t seed = 1;
};

/// Measures for about a second, longer where other programs run, on CPUs that this process may use. Lock them
/// first (os::CpuLock). Reads of lines stay unknown. Throws ResourceError and the errors that break a group.
HostCosts measure_host_costs(const HostCostOptions& options);

}  // namespace sim
}  // namespace phicoll
