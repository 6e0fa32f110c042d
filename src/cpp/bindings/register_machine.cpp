// Facts of this machine, and where ranks would be placed on it.

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "bindings/register.hpp"
#include "phicoll/group/options.hpp"
#include "phicoll/os/cgroup.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/topology.hpp"

namespace phicoll {
namespace bindings {
namespace {

py::list topology() {
  py::list found;
  for (const os::CpuPlace& place : os::read_topology()) {
    py::dict one;
    one["cpu"] = place.cpu;
    one["core"] = place.core;
    one["l2"] = place.l2;
    one["l3"] = place.l3;
    one["numa"] = place.numa;
    one["package"] = place.package;
    found.append(one);
  }
  return found;
}

py::list caches(int cpu) {
  py::list found;
  for (const os::Cache& cache : os::read_caches(cpu)) {
    py::dict one;
    one["level"] = cache.level;
    one["type"] = cache.type;
    one["size_bytes"] = cache.size_bytes;
    one["line_bytes"] = cache.line_bytes;
    one["shared_cpus"] = cache.shared_cpus;
    found.append(one);
  }
  return found;
}

py::object cpu_quota() {
  const double quota = os::cpu_quota();
  if (quota < 0) return py::none();
  return py::float_(quota);
}

py::object memory_remaining() {
  const std::int64_t bytes = os::cgroup_memory_remaining();
  if (bytes < 0) return py::none();
  return py::int_(bytes);
}

py::object throttling() {
  const os::ThrottleCounters counters = os::cgroup_throttling();
  if (!counters.known) return py::none();
  py::dict found;
  found["periods"] = counters.periods;
  found["throttled"] = counters.throttled;
  found["throttled_us"] = counters.throttled_us;
  return found;
}

std::vector<int> place(int ranks, const std::string& placement) {
  const Shape shape = shape_on_host(ranks, placement);
  std::vector<int> cpus;
  for (const CpuLocation& one : shape.places()) cpus.push_back(one.cpu);
  return cpus;
}

}  // namespace

void register_machine(py::module_& module) {
  module.def("topology", &topology);
  module.def("topology_source", [] { return std::string(os::topology_source()); });
  module.def("caches", &caches, py::arg("cpu") = 0);
  module.def("allowed_cpus", [] { return os::allowed_cpus(); });
  module.def("allowed_cpu_count", &os::allowed_cpu_count);
  module.def("cpu_quota", &cpu_quota);
  module.def("memory_remaining", &memory_remaining);
  module.def("throttling", &throttling);
  module.def("place", &place, py::arg("ranks"), py::arg("placement"));
}

}  // namespace bindings
}  // namespace phicoll
