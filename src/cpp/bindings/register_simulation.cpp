// Sweeps on a simulated machine: planning one, and simulating one of its points.

#include <pybind11/stl.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "bindings/register.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/resume.hpp"
#include "phicoll/sim/running/point_budget.hpp"
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/sim/running/sim_records.hpp"
#include "phicoll/sim/running/sim_sweep.hpp"
#if __has_include("phicoll_build.hpp")
#include "phicoll_build.hpp"
#endif

namespace phicoll {
namespace bindings {
namespace {

measure::BuildInfo build_info() {
  measure::BuildInfo build;
  build.compiler_id = PHICOLL_COMPILER_ID;
  build.compiler_version = PHICOLL_COMPILER_VERSION;
  build.compiler_flags = PHICOLL_COMPILER_FLAGS;
#if defined(PHICOLL_GIT_COMMIT)
  build.git_commit = PHICOLL_GIT_COMMIT;
  build.git_dirty = PHICOLL_GIT_DIRTY;
#endif
  return build;
}

/// The work of simulating the points, and the lines that precede them. `resume` is a file to continue, or
/// empty.
py::dict plan_simulation(const std::string& operation, const std::map<std::string, std::string>& values,
                         const std::string& resume, const std::vector<std::string>& command) {
  const measure::SweepValues given(measure::parse_call(operation), values);
  bool left_out = false;
  sim::SimulatedSettings settings = sim::parse_simulated_settings(given, &left_out);
  std::vector<sim::SimulatedPoint> points = sim::plan_points(settings);
  std::string run = measure::new_run_id();
  sim::EarlierPoints earlier;
  py::object context = py::none();
  if (resume.empty()) {
    context = py::str(
        measure::record_line("context", run, sim::simulated_context(settings, command, build_info())));
  } else {
    const measure::RecordLines file = measure::read_records(resume, "resume");
    run = measure::run_to_resume(file, settings.json(), &settings.seed, given.has("seed"));
    earlier = sim::drop_done(&points, file.records, run);
  }
  py::list tasks;
  for (const sim::SimulatedPoint& point : points)
    tasks.append(py::make_tuple(sim::task_text(settings, point, run), point.title(),
                                point.rank_calls(settings), point.steps.size()));
  py::list specs;
  for (const AlgorithmSpec& spec : settings.algorithms) specs.append(spec.text());
  py::dict found;
  found["budget"] = sim::PointBudget(settings, points);
  found["run"] = run;
  found["context"] = context;
  found["tasks"] = tasks;
  found["specs"] = specs;
  found["left_out"] = left_out;
  found["points"] = earlier.points;
  found["samples"] = earlier.samples;
  found["elapsed_s"] = earlier.elapsed_s;
  return found;
}

/// While true, points end with the steps that are done.
std::atomic<bool> stopping{false};
/// Calls that ranks have finished in this process.
std::atomic<std::int64_t> finished{0};

/// (lines, samples, error). Without the GIL: threads simulate side by side.
py::tuple simulate_point(const std::string& task) {
  sim::PointRecords found;
  {
    py::gil_scoped_release released;
    const sim::SimulatedTask parsed = sim::parse_task(task);
    found = sim::simulate_point(parsed.settings, parsed.point, parsed.run, &stopping, &finished);
  }
  return py::make_tuple(found.lines, found.samples, found.error);
}

}  // namespace

void register_simulation(py::module_& module) {
  py::class_<sim::PointBudget>(module, "PointBudget")
      .def("done", &sim::PointBudget::done, py::arg("index"))
      .def("over", &sim::PointBudget::over, py::arg("elapsed_s"))
      .def("estimate", &sim::PointBudget::estimate, py::arg("elapsed_s"))
      .def("left_out", &sim::PointBudget::left_out, py::arg("indices"));
  module.def("plan_simulation", &plan_simulation, py::kw_only(), py::arg("operation"), py::arg("values"),
             py::arg("resume"), py::arg("command"));
  module.def("simulate_point", &simulate_point, py::arg("task"));
  module.def("simulated_calls", [] { return finished.load(std::memory_order_relaxed); });
  module.def(
      "stop_simulating", [](bool stop) { stopping.store(stop, std::memory_order_relaxed); }, py::arg("stop"));
}

}  // namespace bindings
}  // namespace phicoll
