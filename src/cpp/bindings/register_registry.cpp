// The registry: what there is, and what a text such as `dissemination:ways=3,paper-001` means.

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "bindings/register.hpp"
#include "phicoll/collectives/barrier/barrier.hpp"
#include "phicoll/group/options.hpp"
#include "phicoll/measure/subjects.hpp"

namespace phicoll {
namespace bindings {
namespace {

void check_operation(const std::string& operation) {
  if (operation != "barrier") throw ArgumentError("operation", "'" + operation + "'", "barrier");
}

py::dict parameter_dict(const ParameterInfo& info) {
  py::dict found;
  found["name"] = info.name;
  found["range"] = info.range();
  found["default"] = info.default_value;
  found["meaning"] = info.meaning;
  return found;
}

py::dict algorithm_dict(const AlgorithmInfo& info) {
  py::list parameters;
  for (const ParameterInfo& parameter : info.parameters) parameters.append(parameter_dict(parameter));
  if (info.origin != Origin::reference) {
    py::dict wait;  // every barrier of ours takes it
    wait["name"] = "wait";
    wait["range"] = "spin, pause, pause(n), yield, adaptive";
    wait["default"] = "adaptive";
    wait["meaning"] = "how a rank waits; the group's policy where it is not given";
    parameters.append(wait);
  }
  py::dict found;
  found["name"] = info.name;
  found["origin"] = to_string(info.origin);
  found["source"] = info.source;
  found["summary"] = info.summary;
  found["parameters"] = parameters;
  return found;
}

py::list algorithms(const std::string& operation) {
  check_operation(operation);
  py::list found;
  for (const AlgorithmInfo& info : barrier_algorithms()) found.append(algorithm_dict(info));
  for (const AlgorithmInfo& info : measure::reference_barriers()) found.append(algorithm_dict(info));
  return found;
}

std::vector<std::string> algorithm_sets(const std::string& operation) {
  check_operation(operation);
  std::vector<std::string> names = barrier_sets();
  names.emplace_back("references");
  return names;
}

std::vector<std::string> expand(const std::string& operation, const std::string& text) {
  check_operation(operation);
  std::vector<std::string> found;
  for (const measure::Subject& subject : measure::parse_subjects(text)) found.push_back(subject.text());
  return found;
}

std::string effective(const std::string& operation, const std::string& spec, int ranks,
                      const std::string& placement) {
  check_operation(operation);
  return effective_barrier(parse_barrier(spec), shape_on_host(ranks, placement)).text();
}

}  // namespace

void register_registry(py::module_& module) {
  module.def("algorithms", &algorithms, py::arg("operation"));
  module.def("algorithm_sets", &algorithm_sets, py::arg("operation"));
  module.def("expand", &expand, py::arg("operation"), py::arg("text"));
  module.def("effective", &effective, py::arg("operation"), py::arg("spec"), py::arg("ranks"),
             py::arg("placement") = "");
  module.def(
      "parse_wait", [](const std::string& text) { return to_string(parse_wait_policy(text)); },
      py::arg("text"));
}

}  // namespace bindings
}  // namespace phicoll
