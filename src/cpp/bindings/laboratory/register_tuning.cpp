// Tuning tables, and what `auto` chooses for a call and why.

#include <pybind11/stl.h>

#include <string>

#include "bindings/laboratory/register.hpp"
#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/choosing/tuning_table.hpp"
#include "phicoll/collectives/contract/call_name.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/calibration.hpp"
#include "phicoll/group/environment.hpp"
#include "phicoll/group/options.hpp"
#include "phicoll/group/tuning.hpp"
#include "phicoll/measure/work.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/sim/machine/machine_file.hpp"
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/sim/running/sim_records.hpp"
#include "phicoll/sim/running/sim_sweep.hpp"
#include "phicoll/support/digits.hpp"

namespace phicoll {
namespace bindings {
namespace {

py::dict table_dict(const TuningTable& table) {
  py::list rows;
  for (const TuningRow& row : table.rows()) {
    py::dict one;
    one["operation"] = to_string(row.operation);
    one["mode"] = to_string(row.mode);
    // Of a rule "9-64", "own+parts" and "2*cell".
    const std::string group = row.group.text(), from = row.in_place ? "in-place" : row.from;
    const std::size_t slash = group.find('/');
    const auto number_or_text = [](const std::string& text) {
      const long long number = whole_number(text, std::int64_t{1} << 47);
      return number < 0 ? py::object(py::cast(text)) : py::object(py::cast(number));
    };
    one["ranks"] = number_or_text(group.substr(0, slash));
    one["cpus"] = number_or_text(group.substr(slash + 1));
    one["from_bytes"] = number_or_text(from);
    one["spec"] = row.given;
    one["comment"] = row.why;
    one["line"] = row.line;
    rows.append(one);
  }
  py::dict found;
  found["name"] = table.name();
  found["machine"] = table.machine();
  found["host"] = table.host();
  found["digest"] = table.digest();
  found["rows"] = rows;
  return found;
}

/// The host's numbers, where those that decide are from, and their file.
py::dict numbers_dict(const HostNumbers& host, const TuningTable* table = nullptr) {
  const HostNumbers usual;
  py::dict numbers, origins;
  for (const HostNumberField& field : host_number_fields) {
    numbers[field.name] = host.*field.value;
    if (is_mark(field)) continue;
    origins[field.name] = table != nullptr && table->sets(field)             ? "from the table"
                          : (host.numbers_seen & seen_bit(field.value)) != 0 ? "measured here"
                          : host.*field.value != usual.*field.value          ? "from the file"
                                                                             : "default";
  }
  py::dict found;
  found["numbers"] = numbers;
  found["origins"] = origins;
  found["file"] = calibration_file();
  return found;
}

/// Threads and processes are told apart by `mode`; "simulated" needs a machine.
std::shared_ptr<const Tuning> tuning_for(const TuningSource& source, const std::string& mode,
                                         const sim::Machine* machine) {
  if (machine != nullptr) return load_simulated_tuning(source, machine->name, machine->contexts());
  if (mode != "threads" && mode != "processes")
    throw ArgumentError("mode", "'" + mode + "'", "threads, processes; simulated with a machine");
  return load_tuning(source, mode == "threads" ? TuningMode::threads : TuningMode::processes);
}

py::dict choice_dict(const AlgorithmChoice& choice, const Shape& shape, const CallFacts& facts,
                     bool simulated) {
  const Family& known = family(facts.operation);
  const AlgorithmSpec effective =
      known.effective(simulated ? sim::simulated_choice(facts.operation, choice) : choice.spec, shape);
  py::dict found;
  found["spec"] = effective.text();
  found["algorithm"] = effective.name;
  py::dict values;
  for (const auto& value : effective.values) values[py::str(value.first)] = value.second;
  found["parameters"] = values;
  found["why"] = choice.why;
  found["line"] = choice.line;
  found["numbers"] = choice.numbers;
  found["tuned"] = !choice.given.empty();
  found["from_bytes"] = choice.least;
  found["to_bytes"] = choice.most == SIZE_MAX ? py::object(py::none()) : py::cast(choice.most);
  found["shared_bytes"] = known.footprint(effective, shape);
  return found;
}

py::dict choose_for(const std::string& operation, std::uint64_t size, int ranks, const std::string& mode,
                    const std::string& placement, const std::string& machine, const std::string& tuning,
                    const std::string& foreign, const std::string& type, const std::string& op, bool vector,
                    bool commutative, std::size_t memory_limit) {
  CallFacts call = parse_call_name(operation);
  if (vector && !call.vector) call = call_of(call.operation, true);
  const measure::Work work = measure::parse_work(to_string(call.operation), size, type, op);
  CallFacts facts = call;
  if (facts.known) facts.bytes = static_cast<std::size_t>(work.bytes);
  facts.commutative = work.facts().commutative;
  facts.associative = work.facts().associative;
  if (!commutative) facts.commutative = facts.associative = false;
  const TuningSource source = tuning_source(tuning, foreign);
  Shape shape;
  std::shared_ptr<const Tuning> table;
  int cpus = os::allowed_cpu_count();
  if (!machine.empty()) {
    const sim::Machine loaded = sim::load_machine(machine);
    table = tuning_for(source, mode, &loaded);
    shape = sim::place_on_machine(loaded, ranks, placement.empty() ? "balanced" : placement);
    cpus = loaded.contexts();
  } else {
    table = tuning_for(source, mode, nullptr);
    shape = shape_on_host(ranks, placement);
    shape.set_host(stored_numbers());
  }
  const std::size_t most = work.moves_data() ? memory_limit / 4 : memory_limit;
  py::dict found;
  found["rule"] = choice_dict(automatic_choice(shape, facts, most), shape, facts, !machine.empty());
  tune(&shape, table);
  if (machine.empty()) check_environment();
  // Simulated ranks have no communicator, and ask no environment.
  const EnvironmentChoice given = machine.empty() ? environment_choice(call.operation) : EnvironmentChoice();
  found["environment"] = given.variable;
  AlgorithmChoice choice;
  if (given && !given.spec.is_auto()) {
    if (work.moves_data()) try {
        family(call.operation).check_fit(given.spec, shape, facts);
      } catch (const ArgumentError& error) {
        throw ArgumentError(given.variable, error.got(), error.allowed());
      }
    choice.spec = given.spec;
    choice.why = given.why();
  } else {
    choice = automatic_choice(shape, asked_of(given.spec, facts), most);
    if (!work.moves_data()) choice.spec.wait_as(given.spec);
  }
  found["choice"] = choice_dict(choice, shape, facts, !machine.empty());
  found["numbers"] = numbers_dict(shape.host(), table == nullptr ? nullptr : &table->table);
  found["call"] = name_of_call(call);
  found["known"] = facts.known;
  found["table"] = table == nullptr ? py::object(py::none()) : py::object(table_dict(table->table));
  found["cpus"] = cpus;
  found["sharing"] = shape.sharing();
  std::vector<int> places;
  for (const CpuLocation& place : shape.places()) places.push_back(place.cpu);
  found["places"] = places;
  return found;
}

/// A spec as a sweep of these ranks records it, its values in effect, and why it cannot serve them ("").
/// Where it leaves `direct` open, `auto`'s value is used, as the spec is tried for `auto`.
py::dict candidate(const std::string& operation, const std::string& spec, std::uint64_t size, int ranks,
                   const std::string& placement, const std::string& machine) {
  measure::Work work;
  work.operation = measure::parse_call(operation).operation;
  work.bytes = work.moves_data() ? size : 0;
  const Family& known = family(work.operation);
  const bool simulated = !machine.empty();
  const Shape shape = simulated ? sim::place_on_machine(sim::load_machine(machine), ranks, placement)
                                : shape_on_host(ranks, placement);
  const AlgorithmSpec parsed =
      with_direct(simulated ? sim::simulated_algorithm(work.operation, spec) : known.parse(spec), shape,
                  work.operation, spec);
  py::dict found;
  found["spec"] = parsed.text();
  found["effective"] = known.effective(parsed, shape).text();
  found["unfit"] = "";
  try {
    known.check_fit(parsed, shape, work.facts());
  } catch (const ArgumentError& error) {
    found["unfit"] = error.what();
  }
  return found;
}

}  // namespace

void register_tuning(py::module_& module) {
  module.def("host_fingerprint", &host_fingerprint);
  module.def("host_kind", &host_kind);
  module.def("host_numbers", [] { return numbers_dict(stored_numbers()); });
  module.def("default_numbers", [] { return py::dict(numbers_dict(HostNumbers())["numbers"]); });
  module.def("calibrate", [] {
    HostNumbers found;
    {
      const py::gil_scoped_release released;
      found = calibrate_host();
    }
    return numbers_dict(found);
  });
  module.def("default_rules", [] { return table_dict(default_rules()); });
  module.def(
      "tuning_table", [](const std::string& path) { return table_dict(TuningTable::read(path)); },
      py::arg("path"));
  module.def(
      "parse_tuning",
      [](const std::string& text, const std::string& name) {
        return table_dict(TuningTable::parse(text, name));
      },
      py::arg("text"), py::arg("name"));
  module.def(
      "call_name",
      [](const std::string& name) {
        const CallFacts call = parse_call_name(name);
        return py::make_tuple(name_of_call(call), to_string(call.operation), call.vector);
      },
      py::arg("name"));
  module.def("choose", &choose_for, py::kw_only(), py::arg("operation"), py::arg("size"), py::arg("ranks"),
             py::arg("mode"), py::arg("placement"), py::arg("machine"), py::arg("tuning"), py::arg("foreign"),
             py::arg("type"), py::arg("op"), py::arg("vector"), py::arg("commutative"),
             py::arg("memory_limit"));
  module.def("candidate", &candidate, py::kw_only(), py::arg("operation"), py::arg("spec"), py::arg("size"),
             py::arg("ranks"), py::arg("placement"), py::arg("machine"));
}

}  // namespace bindings
}  // namespace phicoll
