#include "phicoll/sim/running/sim_records.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/point.hpp"
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/support/statistics.hpp"

namespace phicoll {
namespace sim {

namespace {

double largest_share(const std::vector<ServiceCount>& centres, Cycles elapsed) {
  Cycles busy = 0;
  for (const ServiceCount& centre : centres) busy = std::max(busy, centre.busy);
  return elapsed > 0 ? static_cast<double>(busy) / static_cast<double>(elapsed) : 0;
}

std::string counters_json(const Counters& counters, Cycles elapsed) {
  const auto requests = [&](Request kind) { return counters.requests[static_cast<std::size_t>(kind)]; };
  const Cycles issue = counters.issue_busy.empty()
                           ? 0
                           : *std::max_element(counters.issue_busy.begin(), counters.issue_busy.end());
  return JsonObject()
      .add("cycles", static_cast<std::int64_t>(elapsed))
      .add("events", counters.events)
      .raw("requests", JsonObject()
                           .add("read", requests(Request::read))
                           .add("prefetch", requests(Request::prefetch))
                           .add("write", requests(Request::write))
                           .add("write_no_read", requests(Request::write_no_read))
                           .add("evict", requests(Request::evict))
                           .text())
      .add("l1_hits", counters.l1_hits)
      .add("l2_hits", counters.l2_hits)
      .add("from_caches", counters.from_caches)
      .add("from_memory", counters.from_memory)
      .add("upgrades", counters.upgrades)
      .add("invalidations", counters.invalidations)
      .add("evictions", counters.evictions)
      .add("write_backs", counters.write_backs)
      .add("merged", counters.merged)
      .add("stolen", counters.stolen)
      .add("stores", counters.stores)
      .add("atomics", counters.atomics)
      .add("looks", counters.looks)
      .add("elided_looks", counters.elided_looks)
      .raw("busiest",
           JsonObject()
               .add("directory", largest_share(counters.directories, elapsed), 4)
               .add("cache", largest_share(counters.caches, elapsed), 4)
               .add("channel", largest_share(counters.channels, elapsed), 4)
               .add("issue_port",
                    elapsed > 0 ? static_cast<double>(issue) / static_cast<double>(elapsed) : 0.0, 4)
               .text())
      .text();
}

/// Which of a program's outer iterations were simulated: the others take the mean of those after the warm-up.
std::string iterations_json(const SimulatedSettings& settings, const CollectiveRun& ran) {
  std::vector<double> ns;
  for (const Cycles time : ran.iteration) ns.push_back(settings.machine.ns(static_cast<double>(time)));
  return JsonObject()
      .add("all", ran.iterations)
      .add("simulated", static_cast<int>(ns.size()))
      .add("warm_up", std::min(settings.warm_up, static_cast<int>(ns.size()) - 1))
      .raw("ns", json_numbers(ns, 1))
      .text();
}

std::string round_line(const SimulatedSettings& settings, const SimulatedPoint& point, int round,
                       const std::string& run) {
  JsonObject fields;
  fields.add("launch", 0)
      .add("round", round)
      .add("mode", "simulated")
      .add("ranks", point.ranks)
      .add("point", point.number)
      .add("seed", round_seed(settings.seed, round))
      .null("label");
  return measure::record_line("round", run, fields);
}

std::string sample_line(const SimulatedSettings& settings, const SimulatedPoint& point,
                        const SimulatedStep& step, const CollectiveRun& ran, const std::vector<Cycles>& times,
                        const std::string& run) {
  std::vector<double> cycles(times.begin(), times.end());
  std::vector<double> ns;
  std::vector<std::string> whole;
  for (const Cycles time : times) {
    ns.push_back(settings.machine.ns(static_cast<double>(time)));
    whole.push_back(std::to_string(time));
  }
  const double value = step.definition == "window" ? midmean(cycles)
                                                   : std::accumulate(cycles.begin(), cycles.end(), 0.0) /
                                                         static_cast<double>(cycles.size());
  const bool program = ran.work.program.any();
  const Cycles elapsed = program ? ran.counted_to : *std::max_element(ran.exit.begin(), ran.exit.end());
  JsonObject fields;
  fields.add("point", point.number)
      .add("launch", 0)
      .add("round", step.round)
      .add("order", 0)
      .add("definition", step.definition)
      .add("calls", ran.calls)
      .add("capped", false)
      .add("delay_ns", step.definition == "loop" ? settings.delay_ns : 0)
      .add("imbalance_ns", 0)
      .add("value_ns", settings.machine.ns(value), 2)
      .add("value_cycles", value, 3)
      .raw("ns", json_numbers(ns, 1))
      .raw("cycles", json_list(whole))
      .raw("counters", counters_json(ran.counters, elapsed));
  if (program) fields.raw("iterations", iterations_json(settings, ran));
  return measure::record_line("sample", run, fields);
}

std::string point_line(const SimulatedSettings& settings, const SimulatedPoint& point, const Shape& shape,
                       const AlgorithmSpec& effective, const PointRecords& found, const std::string& run) {
  const measure::Work& work = point.work;
  const AlgorithmInfo* info = nullptr;
  for (const AlgorithmInfo& one : family(work.operation).algorithms())
    if (one.name == point.spec.name) info = &one;
  std::string chosen = "null";
  if (point.spec.is_auto()) {
    const AlgorithmChoice choice = automatic_choice(shape, asked_of(point.spec, work.facts()));
    chosen = JsonObject().add("spec", effective.text()).add("why", choice.why).text();
  }
  std::vector<int> contexts;
  for (const CpuLocation& place : shape.places()) contexts.push_back(place.cpu);
  JsonObject fields;
  fields.add("point", point.number)
      .add("operation", work.name())
      .add("algorithm", point.spec.name)
      .add("spec", point.spec.text())
      .raw("parameters", measure::values_json(point.spec.values))
      .raw("effective", measure::values_json(effective.values))
      .add("origin", to_string(info->origin))
      .add("source", info->source)
      .add("wait", effective.has_wait ? to_string(effective.wait) : settings.wait)
      .add("store", measure::parameter_value(effective.values, "store", "plain"))
      .add("mode", "simulated")
      .add("machine", settings.machine.name)
      .add("machine_digest", settings.machine.digest)
      .add("clock_mhz", settings.machine.p.clock_mhz)
      .add("seed", settings.seed)
      .add("ranks", point.ranks)
      .raw("cpus", json_integers(contexts))
      .add("placement", settings.placement)
      .add("start", settings.start)
      .raw("observed_cpus", json_integers(contexts))
      .add("oversubscribed", false)
      .add("size_bytes", work.bytes)
      .raw("chosen", chosen);
  if (work.moves_data()) {
    fields.add("buffers", work.buffers());
    if (work.reduces()) fields.add("type", to_string(work.type)).add("op", to_string(work.op));
    fields.add("moved_bytes", measure::moved_bytes(work, point.ranks)).add("timing_only", found.timing_only);
    if (found.timing_only) fields.add("twin_bytes", found.twin_bytes);
  }
  fields.add("verified", found.verified);
  JsonObject verification;
  verification.add("calls", found.compared).add_if(!found.error.empty(), "error", found.error);
  return measure::record_line("point", run, fields.raw("verification", verification.text()));
}

}  // namespace

PointRecords simulate_point(const SimulatedSettings& settings, const SimulatedPoint& point,
                            const std::string& run, const std::atomic<bool>* stop,
                            std::atomic<std::int64_t>* finished, const Simulator& simulate) {
  const Shape shape = place_on_machine(settings.machine, point.ranks, settings.placement, settings.tuning);
  const measure::Work& work = point.work;
  const AlgorithmSpec effective = simulated_in_effect(point.spec, shape, work.facts());
  CollectiveOptions options;
  options.calls = settings.calls;
  options.warm_up = settings.warm_up;
  options.evicted = settings.start == "evicted";
  options.simulation.wait = parse_wait_policy(settings.wait);
  const auto cycles = [&](double ns) {
    return static_cast<Cycles>(std::llround(ns * settings.machine.p.clock_mhz / 1000));
  };
  options.simulation.start_skew = cycles(settings.skew_ns);
  options.delay = cycles(settings.delay_ns);
  options.simulation.stop = stop;
  options.finished = finished;
  PointRecords found;
  int round = -1;
  for (const SimulatedStep& step : point.steps) {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) break;
    options.window = step.definition == "window";
    options.simulation.seed = round_seed(settings.seed, step.round);
    try {
      const CollectiveRun ran = simulate(settings.machine, work, effective, shape, options);
      found.timing_only = ran.timing_only;
      found.twin_bytes = ran.twin_bytes;
      found.compared = ran.verified + (work.program.any() ? 0 : found.compared);
      if (step.round != round) found.lines.push_back(round_line(settings, point, step.round, run));
      round = step.round;
      found.lines.push_back(sample_line(settings, point, step, ran, ran.times(options.window), run));
      ++found.samples;
    } catch (const ArgumentError&) {
      throw;
    } catch (const StoppedError&) {
      break;
    } catch (const Error& error) {
      found.verified = false;
      found.error = error.what();
      break;
    }
  }
  if (found.samples > 0 || !found.verified)
    found.lines.insert(found.lines.begin(), point_line(settings, point, shape, effective, found, run));
  return found;
}

}  // namespace sim
}  // namespace phicoll
