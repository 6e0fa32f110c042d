// Counting what a collective does: exact, without a machine. docs/counting.md defines the quantities.

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "bindings/laboratory/register.hpp"
#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/work.hpp"
#include "phicoll/sim/running/sim_program.hpp"

namespace phicoll {
namespace bindings {
namespace {

/// One call of `spec` on the contexts of a simulated machine, or of a uniform one if it has no name. The GIL
/// is released while it counts.
py::dict count(const std::string& operation, const std::string& spec, int cores, int contexts, int ranks,
               const std::string& placement, std::uint64_t size, const std::string& type,
               const std::string& op, const std::string& machine) {
  const measure::Work work = measure::parse_work(operation, size, type, op);
  const AlgorithmSpec parsed = family(work.operation).parse(spec);
  Counts counts;
  AlgorithmSpec effective;
  {
    py::gil_scoped_release released;
    const Shape shape = machine.empty()
                            ? place_ranks(ranks, uniform_machine(cores, contexts), parse_placement(placement))
                            : sim::shape_that_serves(machine, work, parsed, ranks, placement);
    effective = in_effect(parsed, shape, work.facts());
    counts = sim::count_collective(work, parsed, shape);
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
  if (!work.moves_data()) return found;
  found["transfers"] = counts.transfers;
  found["bytes_read"] = counts.bytes_read;
  found["bytes_written"] = counts.bytes_written;
  found["bytes_between"] = counts.bytes_between;
  found["combined"] = counts.combined;
  found["steps"] = counts.steps;
  return found;
}

}  // namespace

void register_counting(py::module_& module) {
  module.def("count", &count, py::arg("operation"), py::arg("spec"), py::arg("cores"), py::arg("contexts"),
             py::arg("ranks"), py::arg("placement") = "compact", py::arg("size") = 0,
             py::arg("type") = "float32", py::arg("op") = "sum", py::arg("machine") = "");
}

}  // namespace bindings
}  // namespace phicoll
