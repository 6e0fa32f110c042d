#include "phicoll/os/topology.hpp"

#include "phicoll/os/fallbacks.hpp"

namespace phicoll {
namespace os {

std::vector<CpuPlace> read_topology() {
  std::vector<CpuPlace> places;
  if (!fallbacks_forced() && read_topology_hwloc(&places)) return places;
  return read_topology_sysfs();
}

const char* topology_source() {
  static const bool with_hwloc = [] {
    std::vector<CpuPlace> places;
    return !fallbacks_forced() && read_topology_hwloc(&places);
  }();
  return with_hwloc ? "hwloc" : "sysfs";
}

std::vector<Cache> read_caches(int cpu) {
  return read_caches_sysfs(cpu);
}

}  // namespace os
}  // namespace phicoll
