// Why a collective takes its time on a simulated machine.

#include <pybind11/stl.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <string>

#include "bindings/laboratory/register.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/sim/explaining/chrome_trace.hpp"
#include "phicoll/sim/explaining/explanation.hpp"
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/sim/running/sim_sweep.hpp"

namespace phicoll {
namespace bindings {
namespace {

/// Calls `work` in a thread, so that Ctrl-C is seen meanwhile: `stop` then turns true, and KeyboardInterrupt
/// is raised.
template <class Work>
auto interruptible(std::atomic<bool>* stop, const Work& work) {
  auto result = std::async(std::launch::async, work);
  while (result.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
    const py::gil_scoped_acquire held;
    if (PyErr_CheckSignals() == 0) continue;
    stop->store(true, std::memory_order_relaxed);
    {
      const py::gil_scoped_release released;
      result.wait();
    }
    throw py::error_already_set();
  }
  return result.get();
}

/// The explanation as text and as JSON; a trace as well if `trace` is a path. Simulates without the GIL.
py::tuple explain(const std::string& machine, const std::string& algorithm, int ranks,
                  const std::string& placement, const std::string& definition, int calls, int warm_up,
                  int call, double skew_ns, const std::string& wait, std::uint64_t seed, int most_links,
                  const std::string& trace, bool all_calls, const std::string& operation, std::uint64_t size,
                  const std::string& buffers, const std::string& type, const std::string& op,
                  std::size_t memory_limit) {
  std::string text, json;
  {
    py::gil_scoped_release released;
    const sim::Machine loaded = sim::load_machine(machine);
    const measure::Work named = measure::parse_call(operation);
    const AlgorithmSpec spec = sim::simulated_algorithm(named.operation, algorithm);
    const Shape shape = sim::place_on_machine(loaded, ranks == 0 ? loaded.contexts() : ranks, placement,
                                              sim::tuning_of(loaded));
    sim::ExplainOptions options;
    options.work = sim::simulated_works(named, {size}, {buffers}, type, op).front();
    options.placement = placement;
    options.window = definition == "window";
    options.calls = calls;
    options.warm_up = warm_up;
    options.call = call;
    options.memory_limit = memory_limit;
    options.log_all = all_calls && !trace.empty();
    options.start_skew = static_cast<sim::Cycles>(std::llround(skew_ns * loaded.p.clock_mhz / 1000));
    options.wait = parse_wait_policy(wait);
    options.seed = seed;
    if (!trace.empty()) sim::check_trace_path(trace);
    std::atomic<bool> stop{false};
    options.stop = &stop;
    options.say = [](const std::string& words) {
      const py::gil_scoped_acquire held;
      py::print("phicoll: note: " + words, py::arg("file") = py::module_::import("sys").attr("stderr"));
    };
    const sim::Explanation found =
        interruptible(&stop, [&] { return sim::explain_collective(loaded, spec, shape, options); });
    if (!trace.empty()) sim::write_chrome_trace(trace, found, all_calls);
    text = sim::explanation_text(found, most_links);
    json = sim::explanation_json(found);
  }
  return py::make_tuple(text, json);
}

}  // namespace

void register_explain(py::module_& module) {
  module.def("explain", &explain, py::arg("machine"), py::arg("algorithm"), py::arg("ranks"),
             py::arg("placement"), py::arg("definition"), py::arg("calls"), py::arg("warm_up"),
             py::arg("call"), py::arg("skew_ns"), py::arg("wait"), py::arg("seed"),
             py::arg("most_links") = 60, py::arg("trace") = "", py::arg("all_calls") = false,
             py::arg("operation") = "barrier", py::arg("size") = 0, py::arg("buffers") = "fresh",
             py::arg("type") = "float32", py::arg("op") = "sum",
             py::arg("memory_limit") = sim::ExplainOptions().memory_limit);
}

}  // namespace bindings
}  // namespace phicoll
