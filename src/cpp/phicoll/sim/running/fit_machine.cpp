#include "phicoll/sim/running/fit_machine.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/kernels/hand_over.hpp"
#include "phicoll/sim/engine/sim_port.hpp"
#include "phicoll/sim/machine/machine_file.hpp"
#include "phicoll/sim/machine/machine_parameters.hpp"
#include "phicoll/support/json.hpp"

namespace phicoll {
namespace sim {

namespace {

/// The shipped machine that supplies what two CPUs cannot show. Its cores run out of order, and its transfers
/// are a table.
const char* const relative_name = "sandy-bridge-e5-2670";

class Fit {
 public:
  Fit(const HostCosts& costs, const std::string& name)
      : costs_(costs), relative_(load_machine(relative_name)) {
    machine_.name = name;
    machine_.summary = "Fitted on " + costs.date + " from kernels measured on " + costs.cpu;
    machine_.p.protocol = Protocol::table;
  }

  Machine machine() {
    topology();
    core();
    lines();
    // The file's own rules decide whether all is there and in range.
    return parse_machine_file(machine_file_text(machine_), machine_.name);
  }

 private:
  void set(const std::string& parameter, const std::string& value, const std::string& kind,
           const std::string& source) {
    const MachineParameterInfo* info = find_machine_parameter(parameter);
    if (!set_machine_value(&machine_.p, parameter, value))
      throw ArgumentError("machine", parameter + " = " + value + " from the host",
                          info == nullptr ? nearest_machine_parameter(parameter) : info->range());
    Evidence evidence;
    evidence.parameter = parameter;
    evidence.kind = kind;
    evidence.source = source;
    machine_.evidence.push_back(evidence);
  }
  void set(const std::string& parameter, int value, const std::string& kind, const std::string& source) {
    set(parameter, std::to_string(value), kind, source);
  }

  int cycles(double ns) const { return static_cast<int>(std::lround(ns * costs_.clock_mhz / 1000.0)); }
  static std::string text(double ns) { return json_number(ns, 1); }

  std::string relative_value(const std::string& parameter) const {
    for (const auto& value : machine_values(relative_.p))
      if (value.first == parameter) return value.second;
    return "";
  }
  /// The relative's value: a count, a size or a choice.
  void assume(const std::string& parameter) {
    set(parameter, relative_value(parameter), "assumed", std::string("as ") + relative_name);
  }
  /// The relative's time in nanoseconds.
  void assume_time(const std::string& parameter, const std::string& why) {
    const double ns = relative_.ns(std::stod(relative_value(parameter)));
    set(parameter, cycles(ns), "assumed", text(ns) + " ns as on " + relative_name + ": " + why);
  }
  static std::string source_of(const HostCost& cost) {
    return cost.how + ": " + text(cost.ns) + " ns (" + text(cost.low_ns) + " to " + text(cost.high_ns) +
           " by launch)";
  }
  /// A cost too small for the clock becomes `least`, the parameter's lowest value.
  bool measured(const std::string& parameter, const HostCost& cost, int least = 0) {
    if (!cost.known()) return false;
    set(parameter, std::max(cycles(cost.ns), least), "measured", source_of(cost));
    return true;
  }
  void measured_or_assumed(const std::string& parameter, const HostCost& cost, const std::string& why,
                           int least = 0) {
    if (!measured(parameter, cost, least)) assume_time(parameter, why);
  }

  void topology() {
    const char* const read = "the system's topology";
    set("topology.cores", costs_.cores, "published", read);
    set("topology.contexts_per_core", costs_.contexts_per_core, "published", read);
    set("topology.packages", costs_.packages, "published", read);
    if (costs_.clock_is_counter)
      set("topology.clock_mhz", costs_.clock_mhz, "measured", "the cycle counter against the system's clock");
    else
      set("topology.clock_mhz", costs_.clock_mhz, "assumed",
          "the cycle counter is not invariant: a cycle is a nanosecond here");
    set("topology.protocol", "table", "derived", "measured transfers are a table");
  }

  void core() {
    for (const char* parameter : {"core.issue_interval", "core.look_instructions", "core.store_instructions",
                                  "core.combine_instructions"})
      assume(parameter);
    measured_or_assumed("core.l1_hit", costs_.l1_hit, "not measured", 1);
    measured_or_assumed("core.l2_hit", costs_.l2_hit, "not measured", 1);
    measured_or_assumed("core.atomic_hit", costs_.atomic, "not measured", 1);
    set("core.atomic_execute", std::max(machine_.p.atomic_hit - machine_.p.l1_hit, 0), "derived",
        "core.atomic_hit less the read");
    measured_or_assumed("core.pause", costs_.pause, "not measured");
    for (const char* parameter : {"core.store_buffer", "core.store_window", "core.core_window"})
      assume(parameter);
    cache("cache.l1_kib", costs_.l1_kib);
    cache("cache.l1_ways", costs_.l1_ways);
    cache("cache.l2_kib", costs_.l2_kib);
    cache("cache.l2_ways", costs_.l2_ways);
    assume("cache.prefetcher");
    assume("cache.prefetch_lines");
    set("request.miss", 0, "derived", "the table's costs are whole");
    set("request.fill", 0, "derived", "the table's costs are whole");
    assume("request.merge_reads");
    assume("request.merge_writes");
    set("request.completion", "data", "derived", "a table has no go-ahead");
  }
  void cache(const std::string& parameter, int value) {
    if (value > 0)
      set(parameter, value, "published", "the system's topology");
    else
      assume(parameter);
  }

  void lines() {
    const std::string one_core = "no two cores of a package can be used";
    const std::string one_package = "no two packages can be used";
    measured_or_assumed("table.near_modified", costs_.near_modified, one_core);
    measured_or_assumed("table.near_exclusive", costs_.near_exclusive, one_core);
    measured_or_assumed("table.far_modified", costs_.far_modified, one_package);
    measured_or_assumed("table.far_exclusive", costs_.far_exclusive, one_package);
    measured_or_assumed("table.far_shared", costs_.far_shared, one_package);
    measured_or_assumed("table.memory", costs_.memory, one_core);
    set("table.far_memory",
        machine_.p.table_memory +
            std::max(machine_.p.table_far_exclusive - machine_.p.table_near_exclusive, 0),
        "assumed", "table.memory and what another package adds to a line in exclusive state");
    assume("table.line_service");
    for (const char* parameter : {"software.call", "software.send", "software.copy"})
      set(parameter, 0, "assumed", "not measured");
    near_shared();
  }

  /// A read of a shared line needs three cores. Two show the other transfer of a shared line, the write by
  /// one of its holders, as the part of a hand-over that is not a read of a modified line.
  void near_shared() {
    if (measured("table.near_shared", costs_.near_shared)) return;
    if (!costs_.hand_over.known() || costs_.cores < 2) {
      assume_time("table.near_shared", "no three cores of a package can be used");
      return;
    }
    int least = machine_.p.l2_hit;
    int most = std::max(least, 4 * cycles(costs_.hand_over.ns));
    while (least < most) {  // the smallest that takes as long as measured
      machine_.p.table_near_shared = least + (most - least) / 2;
      if (simulated_hand_over_ns(machine_) < costs_.hand_over.ns)
        least = machine_.p.table_near_shared + 1;
      else
        most = machine_.p.table_near_shared;
    }
    machine_.p.table_near_shared = least;
    set("table.near_shared", least, "measured",
        source_of(costs_.hand_over) + ", simulated " + text(simulated_hand_over_ns(machine_)) +
            " ns; no three cores for a read");
  }

  const HostCosts& costs_;
  const Machine relative_;
  Machine machine_;
};

}  // namespace

void check_new_machine_name(const std::string& name) {
  if (!is_machine_name(name))
    throw ArgumentError("name", "'" + name + "'", "a name without blanks, commas, colons and slashes");
  for (const Machine& shipped : shipped_machines())
    if (name == shipped.name)
      throw ArgumentError("name", "'" + name + "'", "one that no shipped machine has");
}

Machine fit_machine(const HostCosts& costs, const std::string& name) {
  check_new_machine_name(name);
  return Fit(costs, name).machine();
}

double simulated_hand_over_ns(const Machine& machine) {
  constexpr std::uint64_t warm = 8;
  constexpr std::uint64_t turns = 64;
  const std::vector<CpuLocation> places = machine.places();
  const Shape shape({places[0], places[static_cast<std::size_t>(machine.p.contexts_per_core)]});
  Simulation simulation(machine, shape, arch::line_bytes);
  auto& word = *reinterpret_cast<Word<std::uint64_t>*>(simulation.memory());
  std::int64_t ticks = 0;
  simulation.run([&](SimPort& port) {
    const bool first = port.rank() == 0;
    kernels::hand_over<kernels::BareLook>(port, word, first, 0, warm);
    const std::int64_t start = port.ticks();
    kernels::hand_over<kernels::BareLook>(port, word, first, 2 * warm, turns);
    if (first) ticks = port.ticks() - start;
  });
  return machine.ns(static_cast<double>(ticks)) / (2.0 * turns);
}

}  // namespace sim
}  // namespace phicoll
