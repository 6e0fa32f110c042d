// Sweeps on a simulated machine: the driver, with Python's executors as its workers, and one point alone.

#include <pybind11/stl.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/laboratory/register.hpp"
#include "build_info/build_info.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/sweep_options.hpp"
#include "phicoll/sim/running/simulated_run.hpp"

namespace phicoll {
namespace bindings {
namespace {

/// An exception of Python that crosses the driver, which runs without the GIL. The record of the run's end
/// has its text.
class PythonFailure : public std::runtime_error {
 public:
  /// Takes the exception that is being handled. Needs the GIL.
  explicit PythonFailure(py::error_already_set& error)
      : std::runtime_error(py::str(error.value()).cast<std::string>()),
        error_(new py::error_already_set(std::move(error)), &forget) {}
  [[noreturn]] void rethrow() const { throw py::error_already_set(*error_); }

 private:
  static void forget(py::error_already_set* error) {
    const py::gil_scoped_acquire held;
    delete error;
  }
  std::shared_ptr<py::error_already_set> error_;
};

/// Calls `function` with the GIL. Ctrl-C sets `*interrupted` and gives the result's default; other exceptions
/// become a PythonFailure.
template <class Function>
auto in_python(bool* interrupted, const Function& function) -> decltype(function()) {
  const py::gil_scoped_acquire held;
  try {
    return function();
  } catch (py::error_already_set& error) {
    if (!error.matches(PyExc_KeyboardInterrupt)) throw PythonFailure(error);
    *interrupted = true;
  }
  return decltype(function())();
}

/// Workers written in Python (phicoll.measuring.simulating.Futures): `take(index)` gives a point's lines,
/// samples and error, or None while it is not done; `stop()` begins no further one.
class PythonWorkers final : public sim::PointWorkers {
 public:
  PythonWorkers(py::object workers, bool* interrupted)
      : workers_(std::move(workers)), interrupted_(interrupted) {}

  sim::PointRecords take(std::size_t index, const std::function<bool()>& waiting) override {
    for (;;) {
      sim::PointRecords found;
      const bool done = in_python(interrupted_, [&] {
        const py::object point = workers_.attr("take")(index);
        if (point.is_none()) return false;
        std::tie(found.lines, found.samples, found.error) =
            point.cast<std::tuple<std::vector<std::string>, std::int64_t, std::string>>();
        found.verified = found.error.empty();
        return true;
      });
      if (done || !waiting()) return found;
    }
  }
  void stop() override {
    in_python(interrupted_, [&] { workers_.attr("stop")(); });
  }
  std::int64_t finished() const override { return 0; }

 private:
  py::object workers_;
  bool* interrupted_;
};

/// A watcher whose functions are Python's.
class PythonWatcher final : public sim::RunWatcher {
 public:
  PythonWatcher(py::object watcher, bool* interrupted)
      : watcher_(std::move(watcher)), interrupted_(interrupted) {}

  // A line that Ctrl-C may have kept from being written is written again: readers leave out repeated lines.
  void write(const std::string& line) override {
    const bool before = interrupted();
    call("write", line);
    if (*interrupted_ && !before) call("write", line);
  }
  void note(const std::string& text) override { call("note", text); }
  void failed(const std::string&, const std::string&) override {}  // Results warns of it
  void progress(std::int64_t done, std::int64_t total, const std::string& title) override {
    call("progress", done, total, title);
  }
  bool interrupted() override {
    in_python(interrupted_, [] {
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    });
    return *interrupted_;
  }

 private:
  template <class... Arguments>
  void call(const char* name, const Arguments&... arguments) {
    in_python(interrupted_, [&] { watcher_.attr(name)(arguments...); });
  }
  py::object watcher_;
  bool* interrupted_;
};

/// `workers` is a number of threads, or an object with `take` and `stop`. Raises what ended the run, with all
/// records written.
void simulate_run(const sim::SimulatedRun& run, const py::object& workers, const py::object& watching,
                  const std::vector<std::string>& command) {
  bool interrupted = false;
  PythonWatcher watcher(watching, &interrupted);
  try {
    sim::RunEnd end;
    if (py::isinstance<py::int_>(workers)) {
      const auto jobs = workers.cast<std::size_t>();
      const py::gil_scoped_release released;
      end = run.simulate(jobs, watcher, command, build_info());
    } else {
      PythonWorkers theirs(workers, &interrupted);
      const py::gil_scoped_release released;
      end = run.simulate(theirs, watcher, command, build_info());
    }
    if (end.failure) std::rethrow_exception(end.failure);
  } catch (const PythonFailure& failure) {
    failure.rethrow();
  }
}

std::vector<std::pair<std::string, std::string>> tasks(const sim::SimulatedRun& run) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const sim::SimulatedPoint& point : run.points())
    found.emplace_back(sim::task_text(point), point.title());
  return found;
}

/// (lines, samples, error). Without the GIL: threads simulate side by side. A thread reads a run's part once.
py::tuple simulate_point(const std::string& run, const std::string& point) {
  static thread_local std::pair<std::string, sim::SimulatedTask> last;
  sim::PointRecords found;
  {
    const py::gil_scoped_release released;
    if (last.first != run) last = {run, sim::parse_task(run)};
    found = sim::simulate_point(last.second.settings, sim::parse_point(point), last.second.run);
  }
  return py::make_tuple(found.lines, found.samples, found.error);
}

}  // namespace

void register_simulation(py::module_& module) {
  using sim::SimulatedRun;
  py::class_<SimulatedRun>(module, "SimulatedRun")
      .def(py::init([](const std::string& operation, const std::map<std::string, std::string>& values) {
             return SimulatedRun(measure::SweepValues(measure::parse_measured(operation), values));
           }),
           py::arg("operation"), py::arg("values"))
      .def("resume", &SimulatedRun::resume, py::arg("path"))
      .def("simulate", &simulate_run, py::arg("workers"), py::arg("watcher"), py::arg("command"))
      .def_property_readonly("id", &SimulatedRun::id)
      .def_property_readonly("resumed", &SimulatedRun::resumed)
      .def_property_readonly("left_out", &SimulatedRun::left_out)
      .def_property_readonly("specs",
                             [](const SimulatedRun& run) {
                               std::vector<std::string> specs;
                               for (const AlgorithmSpec& spec : run.settings().algorithms)
                                 specs.push_back(spec.text());
                               return specs;
                             })
      .def_property_readonly("text",
                             [](const SimulatedRun& run) { return task_text(run.settings(), run.id()); })
      .def_property_readonly("tasks", &tasks);
  module.def("simulate_point", &simulate_point, py::arg("run"), py::arg("point"));
}

}  // namespace bindings
}  // namespace phicoll
