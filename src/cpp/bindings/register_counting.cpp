// Counting what a barrier does: exact, without a machine. docs/counting.md defines the quantities.

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "bindings/register.hpp"
#include "phicoll/collectives/barrier/barrier.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/sim/count_barrier.hpp"

namespace phicoll {
namespace bindings {
namespace {

/// One episode of `spec` on a uniform machine. The GIL is released while it counts.
py::dict count(const std::string& operation, const std::string& spec, int cores, int contexts, int ranks,
               const std::string& placement) {
  if (operation != "barrier") throw ArgumentError("operation", "'" + operation + "'", "barrier");
  const AlgorithmSpec parsed = parse_barrier(spec);
  const Placement laid_out = parse_placement(placement);
  Counts counts;
  AlgorithmSpec effective;
  {
    py::gil_scoped_release released;
    const Shape shape = place_ranks(ranks, uniform_machine(cores, contexts), laid_out);
    effective = effective_barrier(parsed, shape);
    counts = count_barrier(parsed, shape);
  }
  py::dict found;
  found["effective"] = effective.text();
  found["rounds"] = counts.rounds;
  found["longest_chain"] = counts.longest_chain;
  found["notifications"] = counts.notifications;
  found["edges"] = counts.edges;
  found["edges_between_cpus"] = counts.edges_between_cpus;
  found["edges_between_cores"] = counts.edges_between_cores;
  found["edges_between_l3"] = counts.edges_between_l3;
  found["edges_between_numa"] = counts.edges_between_numa;
  found["lines_written"] = counts.lines_written;
  return found;
}

}  // namespace

void register_counting(py::module_& module) {
  module.def("count", &count, py::arg("operation"), py::arg("spec"), py::arg("cores"), py::arg("contexts"),
             py::arg("ranks"), py::arg("placement") = "compact");
}

}  // namespace bindings
}  // namespace phicoll
