// Simulated machines: the shipped ones, files, what-if changes, and what each parameter is.

#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/register.hpp"
#include "phicoll/os/cpu_lock.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/sim/fit_machine.hpp"
#include "phicoll/sim/host_costs.hpp"
#include "phicoll/sim/machine.hpp"
#include "phicoll/sim/machine_file.hpp"
#include "phicoll/sim/machine_listing.hpp"
#include "phicoll/sim/machine_parameters.hpp"

namespace phicoll {
namespace bindings {
namespace {

py::object value_of(const sim::MachineParameterInfo& info, const std::string& value) {
  if (info.is_number()) return py::int_(std::stoi(value));
  return py::str(value);
}

py::dict machine_dict(const sim::Machine& machine) {
  py::list parameters;
  for (const sim::MachineListing& line : sim::machine_listing(machine)) {
    py::dict one;
    one["name"] = line.info->name;
    one["value"] = value_of(*line.info, line.value);
    one["unit"] = line.info->unit;
    one["range"] = line.info->range();
    one["kind"] = line.kind;
    one["source"] = line.source;
    one["meaning"] = line.info->meaning;
    parameters.append(one);
  }
  py::dict found;
  found["name"] = machine.name;
  found["summary"] = machine.summary;
  found["digest"] = machine.digest;
  found["cores"] = machine.p.cores;
  found["contexts"] = machine.contexts();
  found["clock_mhz"] = machine.p.clock_mhz;
  found["parameters"] = parameters;
  return found;
}

py::list shipped() {
  py::list found;
  for (const sim::Machine& machine : sim::shipped_machines()) found.append(machine_dict(machine));
  return found;
}

py::list parameters() {
  py::list found;
  for (const sim::MachineParameterInfo& info : sim::machine_parameters()) {
    py::dict one;
    one["name"] = info.name;
    one["unit"] = info.unit;
    one["range"] = info.range();
    one["meaning"] = info.meaning;
    one["directory"] = info.in_directory;
    one["table"] = info.in_table;
    one["optional"] = info.optional;
    found.append(one);
  }
  return found;
}

/// The text of a machine file fitted from this host. Its CPUs are locked meanwhile, the GIL is released.
std::string fit_host_machine(const std::string& name, int launches, int samples, double budget_s,
                             std::uint64_t seed, double lock_wait_s) {
  const py::gil_scoped_release released;
  sim::check_new_machine_name(name);
  sim::HostCostOptions options;
  options.launches = launches;
  options.samples = samples;
  options.budget_s = budget_s;
  options.seed = seed;
  const os::CpuLock lock = os::CpuLock::acquire(os::allowed_cpus(), lock_wait_s);
  return sim::machine_file_text(sim::fit_machine(sim::measure_host_costs(options), name));
}

}  // namespace

void register_machines(py::module_& module) {
  module.def("shipped_machines", &shipped);
  module.def(
      "load_machine", [](const std::string& text) { return machine_dict(sim::load_machine(text)); },
      py::arg("text"));
  module.def(
      "machine_file_text",
      [](const std::string& text) { return sim::machine_file_text(sim::load_machine(text)); },
      py::arg("text"));
  module.def("fit_host_machine", &fit_host_machine, py::arg("name"), py::arg("launches"), py::arg("samples"),
             py::arg("budget_s"), py::arg("seed"), py::arg("lock_wait_s"));
  module.def("machine_parameters", &parameters);
}

}  // namespace bindings
}  // namespace phicoll
