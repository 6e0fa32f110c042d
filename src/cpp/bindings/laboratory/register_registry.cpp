// The registry: its lists, and the meaning of a text such as `dissemination:ways=3,paper-001`.

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "bindings/laboratory/register.hpp"
#include "phicoll/group/options.hpp"
#include "phicoll/measure/subjects.hpp"

namespace phicoll {
namespace bindings {
namespace {

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
    py::dict wait;  // every algorithm of ours takes it
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

std::vector<std::string> all_operations() {
  std::vector<std::string> names;
  for (int o = 0; o < operations; ++o) names.emplace_back(to_string(static_cast<Operation>(o)));
  return names;
}

py::list algorithms(const std::string& operation) {
  const Operation of = measure::parse_call(operation).operation;
  py::list found;
  for (const AlgorithmInfo& info : family(of).algorithms()) found.append(algorithm_dict(info));
  for (const AlgorithmInfo& info : measure::references(of)) found.append(algorithm_dict(info));
  return found;
}

std::vector<std::string> algorithm_sets(const std::string& operation) {
  std::vector<std::string> names = family(measure::parse_call(operation).operation).set_names();
  names.emplace_back("references");
  return names;
}

std::vector<std::string> expand(const std::string& operation, const std::string& text) {
  std::vector<std::string> found;
  for (const measure::Subject& subject :
       measure::parse_subjects(text, measure::parse_work(operation, 0, "float32", "sum")))
    found.push_back(subject.text());
  return found;
}

std::string effective(const std::string& operation, const std::string& spec, int ranks,
                      const std::string& placement, std::uint64_t size_bytes) {
  const measure::Work work = measure::parse_work(operation, size_bytes, "float32", "sum");
  const measure::Subject subject{{}, false, family(work.operation).parse(spec), work};
  return measure::effective_subject(subject, shape_on_host(ranks, placement)).text();
}

void check_work(const std::string& operation, std::uint64_t size_bytes, const std::string& type,
                const std::string& op) {
  measure::parse_work(operation, size_bytes, type, op);
}

py::list all_programs() {
  py::list found;
  for (const programs::ProgramInfo& info : programs::program_infos()) {
    py::dict classes;
    for (const programs::ProblemClass& one : info.classes)
      classes[py::str(std::string(1, one.letter))] = one.size;
    py::dict ways;
    for (const programs::ProgramWay& one : info.facts.ways) ways[one.name] = one.meaning;
    py::dict row;
    row["name"] = info.facts.name;
    row["operation"] = to_string(info.facts.operation);
    row["source"] = info.facts.source;
    row["summary"] = info.facts.summary;
    row["classes"] = classes;
    row["ways"] = ways;
    found.append(row);
  }
  return found;
}

}  // namespace

void register_registry(py::module_& module) {
  module.def("operations", &all_operations);
  module.def("operations_without_data", [] {
    std::vector<std::string> names;
    for (const std::string& name : all_operations()) {
      if (!measure::parse_call(name).moves_data()) names.push_back(name);
    }
    return names;
  });
  module.def("measured_calls", [] {
    py::dict found;
    for (const std::string& name : measure::call_names())
      found[py::str(name)] = to_string(measure::parse_call(name).operation);
    return found;
  });
  module.def(
      "call_of", [](const std::string& name) { return measure::parse_call(name).name(); }, py::arg("name"));
  module.def(
      "measured_of", [](const std::string& name) { return measure::parse_measured(name).name(); },
      py::arg("name"));
  module.def("programs", &all_programs);
  module.def("reductions", [] {
    std::vector<std::string> names;
    for (const std::string& name : all_operations()) {
      if (measure::parse_call(name).reduces()) names.push_back(name);
    }
    return names;
  });
  module.def("parse_sizes", &measure::parse_sizes, py::arg("text"), py::arg("argument") = "sizes");
  module.def("check_work", &check_work, py::arg("operation"), py::arg("size_bytes"), py::arg("type"),
             py::arg("op"));
  module.def("algorithms", &algorithms, py::arg("operation"));
  module.def("algorithm_sets", &algorithm_sets, py::arg("operation"));
  module.def("expand", &expand, py::arg("operation"), py::arg("text"));
  module.def("effective", &effective, py::arg("operation"), py::arg("spec"), py::arg("ranks"),
             py::arg("placement") = "", py::arg("size_bytes") = 0);
}

}  // namespace bindings
}  // namespace phicoll
