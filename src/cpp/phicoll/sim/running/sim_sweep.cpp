#include "phicoll/sim/running/sim_sweep.hpp"

#include <algorithm>
#include <map>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/options.hpp"
#include "phicoll/group/tuning.hpp"
#include "phicoll/measure/point.hpp"
#include "phicoll/measure/settings.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/sim/machine/machine_parameters.hpp"
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/support/nearest.hpp"
#include "phicoll/support/random.hpp"
#include "phicoll/support/split.hpp"

namespace phicoll {
namespace sim {

namespace {

std::string costs_json(const LineCosts& costs) {
  JsonObject object;
  for (const LineCostField& field : line_cost_fields) object.add(field.name, costs.*field.value);
  return object.text();
}

LineCosts parse_costs(const JsonValue& value) {
  LineCosts costs;
  for (const LineCostField& field : line_cost_fields)
    costs.*field.value = static_cast<std::int64_t>(value[field.name].number);
  return costs;
}

std::string machine_json(const Machine& machine) {
  JsonObject parameters;
  for (const auto& value : machine_values(machine.p)) {
    const MachineParameterInfo& info = *find_machine_parameter(value.first);
    // Machines with caches write the values of all of them, as records and those who resume them expect.
    const bool of_other_kind = machine.p.protocol == Protocol::local_store
                                   ? !info.in_local_store
                                   : !info.in_directory && !info.in_table;
    if (of_other_kind) continue;
    if (info.is_number())
      parameters.raw(value.first, value.second);
    else
      parameters.add(value.first, value.second);
  }
  return JsonObject()
      .add("name", machine.name)
      .add("digest", machine.digest)
      .add("clock_mhz", machine.p.clock_mhz)
      .raw("parameters", parameters.text())
      .raw("costs", costs_json(machine.costs))
      .text();
}

Machine parse_machine(const JsonValue& value) {
  Machine machine;
  machine.name = value["name"].string;
  for (const auto& member : value["parameters"].object) {
    const JsonValue& v = member.second;
    if (!set_machine_value(&machine.p, member.first, v.type == JsonValue::Type::string ? v.string : v.text()))
      throw Error("simulation: a task with the parameter " + member.first + " = " + v.text() +
                  ", which this version of phicoll does not know");
  }
  machine.digest = machine_digest(machine.p);
  if (machine.digest != value["digest"].string)
    throw Error("simulation: a task for machine " + machine.name + " of digest " + value["digest"].string +
                ", which this version of phicoll reads as " + machine.digest);
  machine.costs = parse_costs(value["costs"]);
  return machine;
}

JsonValue parse_json(const std::string& text) {
  JsonValue value;
  if (!JsonValue::parse(text, &value)) throw Error("simulation: a task that is not JSON");
  return value;
}

/// A program's calls are iterations of one run, from its beginning.
void check_program(const measure::SweepValues& values, SimulatedSettings* settings) {
  if (!values.work().program.simulated()) {
    std::string allowed;
    for (const programs::ProgramInfo& info : programs::program_infos())
      if (programs::parse_choices(programs::find_program(info.facts.name), "", "").front().simulated())
        allowed += std::string(allowed.empty() ? "" : ", ") + info.facts.name;
    throw ArgumentError("machine", "'" + values.text("machine") + "' with " + values.work().name(),
                        "programs that are simulated: " + allowed);
  }
  for (const std::string& definition : settings->definitions)
    if (definition != "loop")
      throw ArgumentError("definition", "'" + definition + "' with " + values.work().name(),
                          "loop: a simulated program is not started anew");
  if (settings->delay_ns > 0)
    throw ArgumentError("delay-ns", json_number(settings->delay_ns) + " with " + values.work().name(),
                        "0: a program says itself what happens between its calls");
  if (!values.has("calls")) settings->calls = program_calls;
  if (!values.has("warm-up")) settings->warm_up = program_warm_up;
}

}  // namespace

std::string SimulatedSettings::json() const {
  std::vector<std::string> texts;
  for (const AlgorithmSpec& algorithm : algorithms) texts.push_back(algorithm.text());
  JsonObject object;
  object.add("machine", machine.name)
      .add("machine_digest", machine.digest)
      .add("launches", 1)
      .add("rounds", rounds)
      .add("calls", calls)
      .add("window_calls", calls)
      .add("warm_up", warm_up)
      .raw("definitions", json_strings(definitions))
      .add("skew_ns", skew_ns)
      .add("delay_ns", delay_ns)
      .add("imbalance_ns", 0)
      .add("start", start)
      .add_if(budget_s > 0, "budget_s", budget_s)
      .null("target_width")
      .add("placement", placement)
      .add("oversubscribe", false)
      .add("wait", wait)
      .raw("algorithms", json_strings(texts))
      .raw("ranks", json_integers(ranks))
      .raw("modes", json_strings({"simulated"}));
  std::vector<std::string> programs;
  for (const measure::Work& work : works)
    if (work.program.any()) programs.push_back(work.name());
  if (!programs.empty()) object.raw("programs", json_strings(programs));
  if (tuning != nullptr) object.add("tuning", tuning->table.name() + " " + tuning->table.digest());
  if (!works.empty() && works.front().moves_data()) {
    const measure::Work& first = works.front();
    std::vector<std::string> sizes, buffers;
    for (const measure::Work& work : works) {
      const std::string size = std::to_string(work.bytes);
      if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
      if (std::find(buffers.begin(), buffers.end(), work.buffers()) == buffers.end())
        buffers.push_back(work.buffers());
    }
    object.add("operation", first.name()).raw("sizes", json_list(sizes));
    object.raw("buffers", json_strings(buffers));
    if (first.reduces()) object.add("type", to_string(first.type)).add("op", to_string(first.op));
  }
  return object.text();
}

SimulatedSettings parse_simulated_settings(const measure::SweepValues& values, bool* left_out) {
  SimulatedSettings settings;
  const Operation operation = values.work().operation;
  settings.machine = load_machine(values.text("machine"));
  settings.tuning = tuning_of(settings.machine);
  settings.algorithms = simulated_algorithms(operation, values.text("algorithm"), left_out);
  settings.works = values.works();
  settings.ranks = measure::parse_ranks(values.text("ranks"));
  settings.placement = values.text("placement");
  settings.definitions = values.definitions();
  settings.start = values.text("start");
  settings.calls = static_cast<int>(values.integer("calls"));
  settings.warm_up = static_cast<int>(values.integer("warm-up"));
  settings.rounds = static_cast<int>(values.integer("rounds"));
  settings.skew_ns = values.number("skew-ns");
  settings.delay_ns = values.number("delay-ns");
  settings.budget_s = values.number("budget");
  settings.estimate = !values.has("budget");
  settings.wait = to_string(parse_wait_policy(values.text("wait")));
  settings.seed = static_cast<std::uint64_t>(values.integer("seed"));
  if (values.work().program.any()) check_program(values, &settings);
  return settings;
}

std::string SimulatedPoint::title() const {
  return work.before_algorithm() + spec.text() + " with " + std::to_string(ranks) + " ranks";
}

std::int64_t SimulatedPoint::rank_calls(const SimulatedSettings& settings) const {
  return static_cast<std::int64_t>(steps.size()) * (settings.warm_up + settings.calls) * ranks;
}

std::vector<measure::Work> simulated_works(measure::Work work, const std::vector<std::uint64_t>& sizes,
                                           const std::vector<std::string>& buffers, const std::string& type,
                                           const std::string& op) {
  if (!work.moves_data()) return {work};
  if (work.reduces()) {
    work.type = parse_type(type);
    work.op = parse_op(op);
  }
  std::vector<measure::Work> works;
  for (const std::uint64_t size : sizes)
    for (const std::string& kind : buffers) {
      if (kind != "fresh" && kind != "reused")
        throw ArgumentError("buffers", "'" + kind + "'", "fresh, reused");
      work.bytes = size;
      work.fresh = kind == "fresh";
      measure::check_work(work);
      works.push_back(work);
    }
  if (works.empty()) throw ArgumentError("size", "none", "bytes, such as 8,4K");
  return works;
}

std::shared_ptr<const Tuning> tuning_of(const Machine& machine) {
  return load_simulated_tuning(tuning_source(), machine.name, machine.contexts());
}

namespace {

Shape places_on(const Machine& machine, int ranks, const std::string& placement) {
  const std::vector<CpuLocation> places = machine.places();
  if (ranks < 1 || ranks > machine.contexts())
    throw ArgumentError("ranks", std::to_string(ranks),
                        "1 to " + std::to_string(machine.contexts()) + ", the contexts of " + machine.name);
  const bool is_list = !placement.empty() && placement[0] >= '0' && placement[0] <= '9';
  if (!is_list) return place_ranks(ranks, places, parse_placement(placement));
  std::vector<int> all;
  for (const CpuLocation& place : places) all.push_back(place.cpu);
  const std::vector<int> chosen = os::parse_cpu_list(placement, all);
  if (static_cast<std::size_t>(ranks) > chosen.size())
    throw ArgumentError("ranks", std::to_string(ranks),
                        "1 to " + std::to_string(chosen.size()) + ", the contexts of placement " + placement);
  std::vector<CpuLocation> taken;
  for (int r = 0; r < ranks; ++r)
    for (const CpuLocation& place : places)
      if (place.cpu == chosen[static_cast<std::size_t>(r)]) taken.push_back(place);
  return Shape(std::move(taken));
}

}  // namespace

Shape place_on_machine(const Machine& machine, int ranks, const std::string& placement,
                       const std::shared_ptr<const Tuning>& tuning) {
  Shape shape = places_on(machine, ranks, placement);
  shape.set_costs(machine.costs);
  shape.set_stride(machine.p.flags == FlagStride::lines ? arch::line_bytes : arch::stride_bytes);
  tune(&shape, tuning);
  return shape;
}

std::uint64_t round_seed(std::uint64_t seed, int round) {
  return mix_seed(seed, static_cast<std::uint64_t>(round)) >> 11;
}

std::vector<SimulatedPoint> plan_points(const SimulatedSettings& settings) {
  measure::check_start(settings.start, settings.definitions);
  std::vector<SimulatedPoint> points;
  for (const int ranks : settings.ranks) {
    const Shape shape = place_on_machine(settings.machine, ranks, settings.placement, settings.tuning);
    for (const measure::Work& work : settings.works) {
      const char* const why = work.program.any() ? work.program.why_not(ranks) : nullptr;
      if (why != nullptr) throw ArgumentError("ranks", std::to_string(ranks) + " with " + work.name(), why);
      for (const AlgorithmSpec& spec : settings.algorithms) {
        if (!spec.is_auto() && settings.algorithms.size() > 1) {
          if (!family(work.operation).fits(spec, shape, work.facts())) continue;
        } else {
          simulated_in_effect(spec, shape, work.facts());
        }
        SimulatedPoint point;
        point.number = static_cast<int>(points.size());
        point.spec = spec;
        point.work = work;
        point.ranks = ranks;
        for (int round = 0; round < settings.rounds; ++round)
          for (const std::string& definition : settings.definitions)
            point.steps.push_back(SimulatedStep{round, definition});
        points.push_back(std::move(point));
      }
    }
  }
  if (points.empty())
    throw ArgumentError("algorithm", std::to_string(settings.algorithms.size()) + " that cannot serve this",
                        "one that serves the operation, operator and ranks");
  return points;
}

EarlierPoints drop_done(std::vector<SimulatedPoint>* points, const std::vector<JsonValue>& records,
                        const std::string& run) {
  EarlierPoints earlier;
  std::map<int, bool> verified;
  for (const JsonValue& record : records) {
    if (record["run"].string != run) continue;
    const auto number = static_cast<int>(record["point"].number);
    if (record["kind"].string == "point") {
      verified.emplace(number, true);
      if (!record["verified"].boolean) verified[number] = false;
    } else if (record["kind"].string == "end") {
      earlier.elapsed_s = std::max(earlier.elapsed_s, record["elapsed_s"].number);
    } else if (record["kind"].string == "sample") {
      ++earlier.samples;
      for (SimulatedPoint& point : *points) {
        if (point.number != number) continue;
        const auto same = [&](const SimulatedStep& step) {
          return step.round == static_cast<int>(record["round"].number) &&
                 step.definition == record["definition"].string;
        };
        point.steps.erase(std::remove_if(point.steps.begin(), point.steps.end(), same), point.steps.end());
      }
    }
  }
  earlier.points = static_cast<int>(verified.size());
  for (const auto& one : verified) earlier.unverified = earlier.unverified || !one.second;
  // A point that failed would fail again, since nothing here is left to chance.
  const auto done = [&](const SimulatedPoint& point) {
    const auto known = verified.find(point.number);
    return point.steps.empty() || (known != verified.end() && !known->second);
  };
  points->erase(std::remove_if(points->begin(), points->end(), done), points->end());
  return earlier;
}

std::string task_text(const SimulatedSettings& settings, const std::string& run) {
  JsonObject object;
  if (settings.tuning != nullptr) object.add("tuning", pack_tuning(settings.tuning->table));
  return object.add("run", run)
      .raw("machine", machine_json(settings.machine))
      .add("placement", settings.placement)
      .add("calls", settings.calls)
      .add("warm_up", settings.warm_up)
      .add("skew_ns", settings.skew_ns)
      .add("delay_ns", settings.delay_ns)
      .add("wait", settings.wait)
      .add("seed", settings.seed)
      .add("start", settings.start)
      .text();
}

std::string task_text(const SimulatedPoint& point) {
  std::vector<std::string> steps;
  for (const SimulatedStep& step : point.steps)
    steps.push_back(JsonObject().add("round", step.round).add("definition", step.definition).text());
  JsonObject object;
  if (point.work.moves_data())
    object.add("operation", point.work.name())
        .add("bytes", point.work.bytes)
        .add("fresh", point.work.fresh)
        .add("type", to_string(point.work.type))
        .add("op", to_string(point.work.op));
  else if (point.work.program.any())
    object.add("operation", point.work.name());
  return object.add("point", point.number)
      .add("spec", point.spec.text())
      .add("ranks", point.ranks)
      .raw("steps", json_list(steps))
      .text();
}

SimulatedTask parse_task(const std::string& text) {
  const JsonValue value = parse_json(text);
  SimulatedTask task;
  task.run = value["run"].string;
  task.settings.machine = parse_machine(value["machine"]);
  task.settings.placement = value["placement"].string;
  if (!value["tuning"].is_null())
    task.settings.tuning =
        unpack_tuning(value["tuning"].string, task.settings.machine.contexts(), TuningMode::simulated);
  task.settings.calls = static_cast<int>(value["calls"].number);
  task.settings.warm_up = static_cast<int>(value["warm_up"].number);
  task.settings.skew_ns = value["skew_ns"].number;
  task.settings.delay_ns = value["delay_ns"].number;
  task.settings.wait = value["wait"].string;
  task.settings.start = value["start"].string;
  task.settings.seed = static_cast<std::uint64_t>(value["seed"].number);
  return task;
}

SimulatedPoint parse_point(const std::string& text) {
  const JsonValue value = parse_json(text);
  SimulatedPoint point;
  point.number = static_cast<int>(value["point"].number);
  if (!value["operation"].is_null()) point.work = measure::parse_measured(value["operation"].string);
  if (point.work.moves_data()) {
    point.work.bytes = static_cast<std::uint64_t>(value["bytes"].number);
    point.work.fresh = value["fresh"].boolean;
    point.work.type = parse_type(value["type"].string);
    point.work.op = parse_op(value["op"].string);
  }
  point.spec = family(point.work.operation).parse(value["spec"].string);
  point.ranks = static_cast<int>(value["ranks"].number);
  for (const JsonValue& step : value["steps"].list)
    point.steps.push_back(SimulatedStep{static_cast<int>(step["round"].number), step["definition"].string});
  return point;
}

JsonObject simulated_context(const SimulatedSettings& settings, const std::vector<std::string>& command,
                             const measure::BuildInfo& build) {
  const std::string clock = JsonObject()
                                .add("source", "simulated")
                                .add("resolution_ns", settings.machine.ns(1), 6)
                                .add("overhead_ns", 0)
                                .add("invariant", true)
                                .add("offset_ns", 0)
                                .text();
  JsonObject context = measure::context_fields(command, build, clock, settings.seed, settings.json());
  context.raw("machines", json_list({machine_json(settings.machine)}));
  return context;
}

}  // namespace sim
}  // namespace phicoll
