#include "phicoll/os/topology.hpp"

#if defined(PHICOLL_HAVE_HWLOC)
#include <hwloc.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <map>

namespace phicoll {
namespace os {

#if defined(PHICOLL_HAVE_HWLOC) && HWLOC_API_VERSION >= 0x00020000

namespace {

struct Topology {
  hwloc_topology_t handle = nullptr;
  bool loaded = false;

  Topology() {
    if (hwloc_topology_init(&handle) != 0) {
      handle = nullptr;
      return;
    }
    // All CPUs, as sysfs shows them, not only those that this container may use.
    hwloc_topology_set_flags(handle, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    loaded = hwloc_topology_load(handle) == 0;
  }
  ~Topology() {
    if (handle != nullptr) hwloc_topology_destroy(handle);
  }
  Topology(const Topology&) = delete;
  Topology& operator=(const Topology&) = delete;
};

class ObjectNumbering {
 public:
  int operator()(hwloc_obj_t object) {
    if (object == nullptr) return -1;
    return numbers_.emplace(object, static_cast<int>(numbers_.size())).first->second;
  }

 private:
  std::map<hwloc_obj_t, int> numbers_;
};

}  // namespace

bool read_topology_hwloc(std::vector<CpuPlace>* places) {
  places->clear();
  // Without it (an empty /sys) hwloc prints lines of its own on the standard error, and then guesses.
  if (access("/sys/devices/system/cpu/cpu0/topology", R_OK | X_OK) != 0) return false;
  const Topology topology;
  if (!topology.loaded || hwloc_topology_is_thissystem(topology.handle) == 0) return false;
  const int count = hwloc_get_nbobjs_by_type(topology.handle, HWLOC_OBJ_PU);
  std::vector<hwloc_obj_t> units;
  for (int i = 0; i < count; ++i)
    units.push_back(hwloc_get_obj_by_type(topology.handle, HWLOC_OBJ_PU, static_cast<unsigned>(i)));
  std::sort(units.begin(), units.end(),
            [](hwloc_obj_t a, hwloc_obj_t b) { return a->os_index < b->os_index; });
  ObjectNumbering core_numbers;
  ObjectNumbering l2_numbers;
  ObjectNumbering l3_numbers;
  for (hwloc_obj_t unit : units) {
    const auto above = [&](hwloc_obj_type_t type) {
      return hwloc_get_ancestor_obj_by_type(topology.handle, type, unit);
    };
    CpuPlace place;
    place.cpu = static_cast<int>(unit->os_index);
    const hwloc_obj_t core = above(HWLOC_OBJ_CORE);
    place.core = core_numbers(core != nullptr ? core : unit);
    place.l2 = l2_numbers(above(HWLOC_OBJ_L2CACHE));
    place.l3 = l3_numbers(above(HWLOC_OBJ_L3CACHE));
    const hwloc_obj_t package = above(HWLOC_OBJ_PACKAGE);
    if (package != nullptr && package->os_index != HWLOC_UNKNOWN_INDEX)
      place.package = static_cast<int>(package->os_index);
    // Memory hangs beside the tree of CPUs; the nearest node with this CPU in its set.
    for (hwloc_obj_t node = nullptr;
         (node = hwloc_get_next_obj_by_type(topology.handle, HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
      if (node->cpuset != nullptr && hwloc_bitmap_isset(node->cpuset, unit->os_index) != 0) {
        place.numa = static_cast<int>(node->os_index);
        break;
      }
    }
    places->push_back(place);
  }
  return !places->empty();
}

#else

// hwloc 1 is too different to be worth it.
bool read_topology_hwloc(std::vector<CpuPlace>* places) {
  places->clear();
  return false;
}

#endif

}  // namespace os
}  // namespace phicoll
