// The optimisers of model-designed trees and barriers, and the costs that they take. All of it in integers of
// the caller's unit: the same code chooses for the algorithms.

#include <pybind11/stl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/laboratory/register.hpp"
#include "phicoll/collectives/barrier/acknowledged_model.hpp"
#include "phicoll/collectives/broadcast/tree_model.hpp"
#include "phicoll/collectives/reduce/tree_model.hpp"
#include "phicoll/collectives/structure/level_optimum.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/sim/machine/machine_model.hpp"

namespace phicoll {
namespace bindings {
namespace {

using LevelCostTuple = std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>;
using Levels = std::vector<int>;

ModelBound bound_of(const std::string& text) {
  if (text == "min") return ModelBound::minimum;
  if (text == "max") return ModelBound::maximum;
  throw ArgumentError("bound", "'" + text + "'", "min, max");
}

LevelOrder order_of(const std::string& text) {
  if (text == "falling") return LevelOrder::falling;
  if (text == "rising") return LevelOrder::rising;
  if (text == "none") return LevelOrder::any;
  throw ArgumentError("constraint", "'" + text + "'", "falling, rising, none");
}

AcknowledgedRounds rounds_of(const std::string& text) {
  if (text == "corrected") return AcknowledgedRounds::corrected;
  if (text == "printed") return AcknowledgedRounds::printed;
  throw ArgumentError("rounds", "'" + text + "'", "corrected, printed");
}

LineCosts costs_of(const std::map<std::string, std::int64_t>& given) {
  LineCosts costs;
  for (const LineCostField& field : line_cost_fields) costs.*field.value = given.at(field.name);
  return costs;
}

/// (tree, level, child, shared) of a broadcast or reduction; base, start and saved as their models name them.
LevelCostTuple level_cost(const std::string& operation, const std::map<std::string, std::int64_t>& costs,
                          std::int64_t base, const std::string& bound, std::int64_t start,
                          std::int64_t saved) {
  const LevelCost cost = operation == "broadcast"
                             ? broadcast_level_cost(costs_of(costs), base, bound_of(bound))
                             : reduction_level_cost(costs_of(costs), base, bound_of(bound), start, saved);
  return LevelCostTuple(cost.tree, cost.level, cost.child, cost.shared);
}

/// For each number of nodes the levels of least cost, in lexicographic order, at most `most` of them.
std::vector<std::vector<Levels>> best_levels(const std::vector<int>& nodes, const LevelCostTuple& given,
                                             const std::string& constraint, int levels, std::size_t most) {
  const LevelOrder order = order_of(constraint);
  LevelCost cost;
  std::tie(cost.tree, cost.level, cost.child, cost.shared) = given;
  const py::gil_scoped_release released;
  LevelOptimum optimum(cost, order, levels);
  std::vector<std::vector<Levels>> found;
  for (const int count : nodes) {
    if (most == 1)
      found.push_back({optimum.first(count)});
    else
      found.push_back(optimum.all(count, most));
  }
  return found;
}

/// For each number of ranks every (m, rounds) of least cost, by rising m.
std::vector<std::vector<std::pair<int, int>>> best_ways(const std::vector<int>& ranks, std::int64_t local,
                                                        std::int64_t remote, const std::string& rounds,
                                                        const std::string& bound) {
  const AcknowledgedRounds rule = rounds_of(rounds);
  const ModelBound of = bound_of(bound);
  LineCosts costs;
  costs.local = local;
  costs.remote = remote;
  const py::gil_scoped_release released;
  std::vector<std::vector<std::pair<int, int>>> found;
  for (const int count : ranks) {
    found.emplace_back();
    for (const AcknowledgedOptimum& one : all_best_acknowledged(count, rule, costs, of))
      found.back().emplace_back(one.ways, one.rounds);
  }
  return found;
}

/// The costs that designed algorithms take from a model, in tenths of a nanosecond: {name: (value, kind)} of
/// those that are known.
std::map<std::string, std::int64_t> line_costs(
    const std::map<std::string, std::pair<double, std::string>>& constants) {
  std::vector<sim::ModelConstant> model;
  for (const auto& one : constants) {
    sim::ModelConstant constant;
    constant.name = one.first;
    constant.value = one.second.first;
    constant.kind = one.second.second;
    constant.known = true;
    model.push_back(constant);
  }
  const LineCosts costs = sim::line_costs_of(model);
  std::map<std::string, std::int64_t> found;
  for (const LineCostField& field : line_cost_fields) found[field.name] = costs.*field.value;
  return found;
}

}  // namespace

void register_optima(py::module_& module) {
  module.def("level_cost", &level_cost, py::arg("operation"), py::arg("costs"), py::arg("base"),
             py::arg("bound"), py::arg("start") = 0, py::arg("saved") = 0);
  module.def("best_levels", &best_levels, py::arg("nodes"), py::arg("cost"), py::arg("constraint"),
             py::arg("levels"), py::arg("most") = 1);
  module.def("best_ways", &best_ways, py::arg("ranks"), py::arg("local"), py::arg("remote"),
             py::arg("rounds"), py::arg("bound"));
  module.def("line_costs", &line_costs, py::arg("constants"));
  module.attr("most_tree_levels") = static_cast<int>(LevelOptimum::most_levels);
}

}  // namespace bindings
}  // namespace phicoll
