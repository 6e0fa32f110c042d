// Options of groups and calls, given as texts.

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "bindings/register.hpp"
#include "phicoll/collectives/contract/call_name.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/memory/policies.hpp"

namespace phicoll {
namespace bindings {
namespace {

const Family& family_of(const std::string& operation) {
  return family(parse_call_name(operation).operation);
}

}  // namespace

void register_options(py::module_& module) {
  module.def(
      "algorithm_names",
      [](const std::string& operation) {
        std::vector<std::string> names;
        for (const AlgorithmInfo& info : family_of(operation).algorithms()) names.push_back(info.name);
        return names;
      },
      py::arg("operation"));
  module.def(
      "check_algorithm",
      [](const std::string& operation, const std::string& text) { family_of(operation).parse(text); },
      py::arg("operation"), py::arg("text"));
  module.def(
      "parse_wait", [](const std::string& text) { return to_string(parse_wait_policy(text)); },
      py::arg("text"));
}

}  // namespace bindings
}  // namespace phicoll
