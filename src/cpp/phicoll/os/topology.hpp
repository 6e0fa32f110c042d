#pragma once

// Which CPUs share a core, a cache, a NUMA node, a package.

#include <cstddef>
#include <string>
#include <vector>

namespace phicoll {
namespace os {

/// Where one CPU (hardware thread) sits. Two CPUs share a thing when its number is the same; -1: unknown.
/// Cores and caches are numbered 0, 1, ... over the whole machine in the order of their lowest CPU; NUMA
/// nodes and packages have the kernel's numbers. CPUs with the same core are SMT siblings.
struct CpuPlace {
  int cpu = -1;
  int core = -1;
  int l2 = -1;
  int l3 = -1;
  int numa = -1;
  int package = -1;
};

inline bool operator==(const CpuPlace& a, const CpuPlace& b) {
  return a.cpu == b.cpu && a.core == b.core && a.l2 == b.l2 && a.l3 == b.l3 && a.numa == b.numa &&
         a.package == b.package;
}

/// One cache that a CPU uses.
struct Cache {
  int level = 0;
  std::string type;  ///< "Data", "Instruction" or "Unified"
  std::size_t size_bytes = 0;
  std::size_t line_bytes = 0;
  std::vector<int> shared_cpus;  ///< ascending
};

/// All online CPUs, ascending, allowed or not: from hwloc where the library was built with it and it works,
/// else from sysfs. Where neither says anything, every CPU is a core of its own with the rest unknown. Costs
/// milliseconds: keep it.
std::vector<CpuPlace> read_topology();

/// What read_topology() uses: "hwloc" or "sysfs".
const char* topology_source();

/// The caches of one CPU by level, data before instructions; empty when unknown. From sysfs.
std::vector<Cache> read_caches(int cpu);

/// The sysfs reader; `root` stands before /sys in every path, "" for the running system.
std::vector<CpuPlace> read_topology_sysfs(const std::string& root = "");
std::vector<Cache> read_caches_sysfs(int cpu, const std::string& root = "");

/// The hwloc reader. Returns false, `places` empty, where hwloc is not built in or does not work.
bool read_topology_hwloc(std::vector<CpuPlace>* places);

}  // namespace os
}  // namespace phicoll
