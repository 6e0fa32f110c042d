// A sweep: the table of its options, and checking what Python was given by it.

#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "bindings/laboratory/register.hpp"
#include "phicoll/measure/settings.hpp"
#include "phicoll/measure/sweep_options.hpp"

namespace phicoll {
namespace bindings {
namespace {

py::object use_dict(const measure::OptionUse& use) {
  if (!use.taken) return py::none();
  py::dict found;
  found["default"] = use.shown();
  found["value"] = use.standard;
  found["least"] = use.least;
  found["most"] = use.most;
  found["choices"] = use.choices;
  return found;
}

py::list options() {
  static const char* const scopes[] = {"every call", "data", "reductions", "programs"};
  py::list rows;
  for (const measure::SweepOption& option : measure::sweep_options()) {
    py::dict row;
    row["name"] = option.name;
    row["letter"] = option.letter;
    row["python"] = option.python;
    row["kind"] = measure::to_string(option.kind);
    row["metavar"] = option.value;
    row["scope"] = scopes[static_cast<int>(option.scope)];
    row["native"] = use_dict(option.native);
    row["simulated"] = use_dict(option.simulated);
    row["help"] = option.help;
    rows.append(row);
  }
  return rows;
}

/// Refuses what `phicoll-bench run` would refuse, before it is started, and says what the texts mean.
py::dict plan(const std::string& operation, const std::map<std::string, std::string>& values) {
  const measure::Settings settings =
      measure::parse_settings(measure::SweepValues(measure::parse_measured(operation), values));
  measure::check_settings(settings);
  std::vector<std::string> specs;
  for (const measure::Subject& subject : settings.subjects)
    if (std::find(specs.begin(), specs.end(), subject.text()) == specs.end()) specs.push_back(subject.text());
  py::dict found;
  found["specs"] = specs;
  found["ranks"] = settings.ranks;
  found["definitions"] = settings.definitions;
  return found;
}

}  // namespace

void register_sweep(py::module_& module) {
  module.def("sweep_options", &options);
  module.def("plan_sweep", &plan, py::arg("operation"), py::arg("values"));
  module.def("parse_ranks", &measure::parse_ranks, py::arg("text"));
}

}  // namespace bindings
}  // namespace phicoll
