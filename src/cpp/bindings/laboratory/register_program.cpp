// Programs (collectives/verifying/program.hpp) as dictionaries, for tests that build them in Python.

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "bindings/laboratory/register.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/verifying/program.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/run_program.hpp"
#include "phicoll/measure/work.hpp"
#include "phicoll/sim/running/sim_program.hpp"
#include "phicoll/sim/running/sim_sweep.hpp"

namespace phicoll {
namespace bindings {
namespace {

template <class T>
void take(const py::dict& from, const char* name, T& value) {
  if (from.contains(name)) value = from[name].cast<T>();
}

/// Members that are missing are a ProgramCall's defaults.
ProgramCall call_of(const py::dict& from) {
  ProgramCall call;
  std::string operation, type, op;
  take(from, "operation", operation);
  call.operation = measure::parse_call(operation).operation;
  take(from, "algorithm", call.algorithm);
  take(from, "root", call.root);
  take(from, "exclusive", call.exclusive);
  take(from, "type", type);
  take(from, "op", op);
  if (!type.empty()) call.type = parse_type(type);
  if (!op.empty()) call.op = parse_op(op);
  take(from, "count", call.count);
  take(from, "counts", call.counts);
  take(from, "gap", call.gap);
  take(from, "in_place", call.in_place);
  take(from, "send", call.send);
  take(from, "receive", call.receive);
  take(from, "send_at", call.send_at);
  take(from, "receive_at", call.receive_at);
  take(from, "fill", call.fill);
  take(from, "delays", call.delays);
  return call;
}

/// Why the call's algorithm cannot serve it among `ranks` ranks, or "" (what Program::check finds is not
/// looked for).
std::string unfit(int ranks, const py::dict& from) {
  Program program;
  program.ranks = ranks;
  const ProgramCall call = call_of(from);
  if (call.operation == Operation::barrier) return "";
  try {
    const AlgorithmSpec spec = family(call.operation).parse(call.algorithm);
    if (!spec.is_auto()) family(call.operation).check_fit(spec, Shape::unknown(ranks), program.facts(call));
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "";
}

py::list as_bytes(const std::vector<Buffers>& ranks) {
  py::list all;
  for (const Buffers& buffers : ranks) {
    py::list own;
    for (const auto& buffer : buffers)
      own.append(py::bytes(reinterpret_cast<const char*>(buffer.data()), buffer.size()));
    all.append(own);
  }
  return all;
}

/// (what the ranks' buffers hold after the calls, what they should hold). `how`: threads, processes,
/// simulated, counted. Every wait of threads and processes is bounded by a minute.
py::tuple run_program(const std::string& how, int ranks, std::uint64_t seed,
                      const std::vector<std::size_t>& buffers, const std::vector<py::dict>& calls,
                      const std::string& machine, std::uint64_t machine_seed) {
  Program program;
  program.ranks = ranks;
  program.seed = seed;
  program.buffers = buffers;
  for (const py::dict& call : calls) program.calls.push_back(call_of(call));
  std::vector<Buffers> found, expected;
  {
    py::gil_scoped_release released;
    program.check();
    expected = program.expected();
    GroupOptions options;
    options.timeout_ms = 60000;
    options.memory_limit = std::size_t{256} << 20;
    if (how == "threads") {
      found = run_program_by_threads(program, options);
    } else if (how == "processes") {
      found = run_program_by_processes(program, options);
    } else if (how == "simulated") {
      const sim::Machine loaded = sim::load_machine(machine);
      sim::SimOptions settings;
      settings.seed = machine_seed;
      settings.start_skew = 1000;
      found = sim::run_program_simulated(
                  program, loaded, sim::place_on_machine(loaded, ranks, "balanced", sim::tuning_of(loaded)),
                  settings)
                  .buffers;
    } else if (how == "counted") {
      found = sim::run_program_counted(program, Shape::unknown(ranks)).buffers;
    } else {
      throw ArgumentError("how", "'" + how + "'", "threads, processes, simulated, counted");
    }
  }
  return py::make_tuple(as_bytes(found), as_bytes(expected));
}

}  // namespace

void register_program(py::module_& module) {
  module.def("program_call_unfit", &unfit, py::arg("ranks"), py::arg("call"));
  module.def("run_program", &run_program, py::arg("how"), py::arg("ranks"), py::arg("seed"),
             py::arg("buffers"), py::arg("calls"), py::arg("machine") = "xeon-phi-5110p",
             py::arg("machine_seed") = 1);
}

}  // namespace bindings
}  // namespace phicoll
