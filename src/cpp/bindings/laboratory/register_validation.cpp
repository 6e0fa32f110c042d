// One barrier on a simulated machine, as times and counts: what validation compares with published
// statements. The GIL is released while it runs, so points run side by side in threads.

#include <pybind11/stl.h>

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/laboratory/register.hpp"
#include "phicoll/memory/policies.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/sim/machine/machine.hpp"
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/sim/running/sim_collectives.hpp"

namespace phicoll {
namespace bindings {
namespace {

/// The calls' times in nanoseconds, and what was counted in all of them, warm-up included.
py::dict barrier_times(const std::string& machine, const std::string& spec, const std::string& placement,
                       int ranks, int calls, int warm_up, bool window, double skew_ns,
                       const std::string& wait, std::uint64_t seed) {
  sim::CollectiveRun run;
  std::vector<double> times;
  {
    py::gil_scoped_release released;
    const sim::Machine loaded = sim::load_machine(machine);
    sim::CollectiveOptions options;
    options.calls = calls;
    options.warm_up = warm_up;
    options.window = window;
    options.simulation.seed = seed;
    options.simulation.wait = parse_wait_policy(wait);
    options.simulation.start_skew = static_cast<sim::Cycles>(skew_ns * loaded.p.clock_mhz / 1000.0);
    Shape shape = place_ranks(ranks, loaded.places(), parse_placement(placement));
    shape.set_costs(loaded.costs);
    run = sim::simulate_collective(loaded, measure::Work(),
                                   sim::simulated_algorithm(Operation::barrier, spec), shape, options);
    for (const sim::Cycles time : run.times(window)) times.push_back(loaded.ns(static_cast<double>(time)));
  }
  const sim::Counters& c = run.counters;
  py::dict counts;
  counts["from_caches"] = c.from_caches;
  counts["from_memory"] = c.from_memory;
  counts["invalidations"] = c.invalidations;
  counts["upgrades"] = c.upgrades;
  counts["no_read"] = c.requests[static_cast<int>(sim::Request::write_no_read)];
  counts["data_messages"] = c.data_ring.messages;
  counts["events"] = c.events;
  py::dict found;
  found["times_ns"] = times;
  found["counters"] = counts;
  return found;
}

}  // namespace

void register_validation(py::module_& module) {
  module.def("barrier_times", &barrier_times, py::arg("machine"), py::arg("spec"), py::arg("placement"),
             py::arg("ranks"), py::arg("calls"), py::arg("warm_up"), py::arg("window"), py::arg("skew_ns"),
             py::arg("wait"), py::arg("seed"));
}

}  // namespace bindings
}  // namespace phicoll
