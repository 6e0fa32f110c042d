// The parts of this host's machine file: its costs, the lock of its CPUs, its clock.

#include <pybind11/stl.h>

#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bindings/laboratory/register.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_lock.hpp"
#include "phicoll/sim/machine/host_costs.hpp"
#include "phicoll/sim/machine/machine_file.hpp"
#include "phicoll/sim/running/fit_machine.hpp"

namespace phicoll {
namespace bindings {
namespace {

sim::HostCosts measure_costs(int launches, double budget_s, std::uint64_t seed) {
  sim::HostCostOptions options;
  options.launches = launches;
  options.budget_s = budget_s;
  options.seed = seed;
  return sim::measure_host_costs(options);
}

const sim::HostCost& cost_of(const sim::HostCosts& costs, const std::string& name) {
  const sim::HostCost* cost = costs.find(name);
  if (cost == nullptr) throw ArgumentError("name", "'" + name + "'", "a cost of sim/host_costs.hpp");
  return *cost;
}

/// (median, fastest and slowest launch, what was measured), ns, or None where it is not known.
py::object get_cost(const sim::HostCosts& costs, const std::string& name) {
  const sim::HostCost& cost = cost_of(costs, name);
  if (!cost.known()) return py::none();
  return py::make_tuple(cost.ns, cost.low_ns, cost.high_ns, cost.how);
}

void set_cost(sim::HostCosts& costs, const std::string& name, double ns, double low_ns, double high_ns,
              const std::string& how) {
  cost_of(costs, name);
  sim::HostCost& cost = *costs.find(name);
  cost.ns = ns;
  cost.low_ns = low_ns;
  cost.high_ns = high_ns;
  cost.how = how;
}

}  // namespace

void register_machine_fit(py::module_& module) {
  py::class_<sim::HostCosts>(module, "HostCosts")
      .def("cost", &get_cost, py::arg("name"))
      .def("set_cost", &set_cost, py::arg("name"), py::arg("ns"), py::arg("low_ns"), py::arg("high_ns"),
           py::arg("how"))
      .def_readonly("cpu", &sim::HostCosts::cpu)
      .def_readonly("clock_mhz", &sim::HostCosts::clock_mhz)
      .def_readonly("clock_is_counter", &sim::HostCosts::clock_is_counter);
  module.def("measure_host_costs", &measure_costs, py::arg("launches"), py::arg("budget_s"), py::arg("seed"),
             py::call_guard<py::gil_scoped_release>());
  // As in HostCosts: 1000, a cycle being a nanosecond, where the cycle counter is not a clock.
  module.def("host_clock_mhz", [] {
    return os::cycle_counter_is_clock()
               ? static_cast<int>(std::lround(1000.0 / os::cycle_clock().ns_per_cycle))
               : 1000;
  });
  module.def("check_new_machine_name", &sim::check_new_machine_name, py::arg("name"));
  // The text of a machine file of protocol `table`.
  module.def(
      "fit_machine_text",
      [](const sim::HostCosts& costs, const std::string& name) {
        return sim::machine_file_text(sim::fit_machine(costs, name));
      },
      py::arg("costs"), py::arg("name"), py::call_guard<py::gil_scoped_release>());
  py::class_<os::CpuLock>(module, "CpuLock")
      .def(py::init([](const std::vector<int>& cpus, double wait_s) {
             return std::make_unique<os::CpuLock>(os::CpuLock::acquire(cpus, wait_s));
           }),
           py::arg("cpus"), py::arg("wait_s"), py::call_guard<py::gil_scoped_release>())
      .def("release", &os::CpuLock::release);
}

}  // namespace bindings
}  // namespace phicoll
