// Simulated machines: the shipped ones, files, what-if changes, and what each parameter is.

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "bindings/laboratory/register.hpp"
#include "phicoll/sim/machine/machine.hpp"
#include "phicoll/sim/machine/machine_file.hpp"
#include "phicoll/sim/machine/machine_listing.hpp"
#include "phicoll/sim/machine/machine_parameters.hpp"

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
    one["local-store"] = info.in_local_store;
    one["optional"] = info.optional;
    found.append(one);
  }
  return found;
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
  module.def("machine_parameters", &parameters);
}

}  // namespace bindings
}  // namespace phicoll
