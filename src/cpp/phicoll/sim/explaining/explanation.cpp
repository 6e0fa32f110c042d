#include "phicoll/sim/explaining/explanation.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/sim/running/sim_collectives.hpp"
#include "phicoll/sim/running/sim_sweep.hpp"

namespace phicoll {
namespace sim {

namespace {

ServiceCount less(const ServiceCount& after, const ServiceCount& before) {
  return ServiceCount{after.served - before.served, after.busy - before.busy, after.queued - before.queued};
}
RingCount less(const RingCount& after, const RingCount& before) {
  return RingCount{after.messages - before.messages, after.hops - before.hops};
}
template <class T>
std::vector<T> less_each(const std::vector<T>& after, const std::vector<T>& before) {
  std::vector<T> rest;
  for (std::size_t i = 0; i < after.size(); ++i)
    rest.push_back(i >= before.size() ? after[i] : less(after[i], before[i]));
  return rest;
}

Counters less(const Counters& after, const Counters& before) {
  Counters rest;
  std::int64_t Counters::*const numbers[] = {
      &Counters::l1_hits,       &Counters::l2_hits,   &Counters::from_caches,  &Counters::from_memory,
      &Counters::upgrades,      &Counters::evictions, &Counters::write_backs,  &Counters::merged,
      &Counters::invalidations, &Counters::looks,     &Counters::elided_looks, &Counters::stores,
      &Counters::atomics,       &Counters::stolen};
  for (std::int64_t Counters::*const number : numbers) rest.*number = after.*number - before.*number;
  for (std::size_t i = 0; i < request_kinds; ++i) rest.requests[i] = after.requests[i] - before.requests[i];
  rest.request_ring = less(after.request_ring, before.request_ring);
  rest.data_ring = less(after.data_ring, before.data_ring);
  rest.acknowledge_ring = less(after.acknowledge_ring, before.acknowledge_ring);
  rest.directories = less_each(after.directories, before.directories);
  rest.caches = less_each(after.caches, before.caches);
  rest.channels = less_each(after.channels, before.channels);
  for (std::size_t i = 0; i < carrier_kinds; ++i)
    rest.carriers[i] = less_each(after.carriers[i], before.carriers[i]);
  for (std::size_t i = 0; i < after.issue_busy.size(); ++i)
    rest.issue_busy.push_back(after.issue_busy[i] -
                              (i < before.issue_busy.size() ? before.issue_busy[i] : 0));
  return rest;
}

CentreReport servers(const std::string& name, const std::vector<ServiceCount>& counts, double elapsed) {
  CentreReport report;
  report.name = name;
  report.servers = static_cast<int>(counts.size());
  Cycles queued = 0;
  std::int64_t served = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double utilisation = static_cast<double>(counts[i].busy) / elapsed;
    report.mean += utilisation / static_cast<double>(counts.size());
    if (report.which < 0 || utilisation > report.busiest) {
      report.busiest = utilisation;
      report.which = static_cast<int>(i);
    }
    queued += counts[i].queued;
    served += counts[i].served;
  }
  if (served > 0) report.queued = static_cast<double>(queued) / static_cast<double>(served);
  return report;
}

std::vector<CentreReport> centres_of(const Counters& counted, const MachineParameters& p, double elapsed,
                                     const std::vector<int>& cores) {
  std::vector<CentreReport> centres;
  if (p.protocol == Protocol::directory) {
    centres.push_back(servers("directories", counted.directories, elapsed));
    centres.push_back(servers("caches, answering", counted.caches, elapsed));
    centres.push_back(servers("memory channels", counted.channels, elapsed));
  }
  if (p.protocol == Protocol::local_store)
    for (std::size_t i = 0; i < carrier_kinds; ++i) {
      // A queue is as busy as its places are taken.
      const bool queue = static_cast<Carrier>(i) == Carrier::queue;
      centres.push_back(servers(to_string(static_cast<Carrier>(i)), counted.carriers[i],
                                queue ? elapsed * p.dma_queue : elapsed));
    }
  // Only cores that ranks are on.
  const std::set<int> used(cores.begin(), cores.end());
  CentreReport issue;
  issue.name = "issue ports";
  issue.servers = static_cast<int>(used.size());
  for (const int core : used) {
    const double utilisation =
        static_cast<double>(counted.issue_busy[static_cast<std::size_t>(core)]) / elapsed;
    issue.mean += utilisation / static_cast<double>(used.size());
    if (issue.which < 0 || utilisation > issue.busiest) {
      issue.busiest = utilisation;
      issue.which = core;
    }
  }
  centres.push_back(issue);
  // A message takes a segment for a cycle; a ring has two directions. The mean alone is known.
  if (p.protocol == Protocol::directory) {
    const auto ring = [&](const char* name, const RingCount& count) {
      CentreReport report;
      report.name = name;
      report.servers = 2 * p.ring_stops;
      report.mean = static_cast<double>(count.hops) / (2.0 * p.ring_stops * elapsed);
      centres.push_back(report);
    };
    ring("segments, request ring", counted.request_ring);
    ring("segments, data ring", counted.data_ring);
    ring("segments, acknowledgement ring", counted.acknowledge_ring);
  }
  return centres;
}

struct Effort {
  double events = 0;
  double log_bytes = 0;
  double seconds = 0;
};

Effort effort_of(const Machine& machine, const AlgorithmSpec& effective, const Shape& shape,
                 const measure::Work& work, const CollectiveOptions& settings) {
  const auto begin = std::chrono::steady_clock::now();
  const CollectiveRun run = simulate_collective(machine, work, effective, shape, settings);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return {static_cast<double>(run.counters.events), static_cast<double>(run.log->bytes()), took.count()};
}

// Estimates the cost of explaining: from smaller messages and fewer calls or, if a message cannot be much
// smaller, from one call.
Effort expected_effort(const Machine& machine, const AlgorithmSpec& effective, const Shape& shape,
                       const ExplainOptions& options, CollectiveOptions settings) {
  constexpr std::uint64_t most_bytes = 2048;
  constexpr std::uint64_t least_bytes = 128;
  constexpr int most_calls = 8;
  constexpr int logged_calls = 4;  // at least: the one that is explained and its neighbours
  const double all_calls = options.warm_up + options.calls;
  settings.simulation.log = true;
  settings.simulation.log_limit = options.memory_limit;
  measure::Work smaller = options.work;
  smaller.bytes = std::min(options.work.bytes / 16, most_bytes) / least_bytes * least_bytes;
  Effort effort;
  if (smaller.bytes == 0) {
    settings.calls = 1;
    settings.warm_up = 0;
    effort = effort_of(machine, effective, shape, options.work, settings);
    effort.log_bytes *= options.log_all ? all_calls : std::min<double>(all_calls, logged_calls);
    effort.events *= all_calls;
    effort.seconds *= all_calls;
  } else {
    settings.calls = std::min(options.calls, most_calls);
    if (!options.log_all) settings.simulation.log_call = 0;
    effort = effort_of(machine, effective, shape, smaller, settings);
    smaller.bytes /= 2;
    const Effort half = effort_of(machine, effective, shape, smaller, settings);
    const double more = static_cast<double>(options.work.bytes) / static_cast<double>(smaller.bytes) - 2;
    const double more_calls = all_calls / (options.warm_up + settings.calls);
    const auto larger = [&](double Effort::*what) {
      return effort.*what + more * std::max(effort.*what - half.*what, 0.0);
    };
    const double event_s = effort.seconds / effort.events;
    effort.log_bytes = larger(&Effort::log_bytes) * (options.log_all ? more_calls : 1);
    effort.events = larger(&Effort::events) * more_calls;
    effort.seconds = effort.events * event_s;
  }
  effort.seconds *= 2;  // once without the log, once with it
  return effort;
}

void check_effort(const Effort& effort, const ExplainOptions& options) {
  constexpr double least_s = 3;         // a shorter one is over before this is read
  constexpr double most_too_large = 2;  // may be an error of the estimate; the log has its limit anyway
  const auto rounded = [](double value) { return std::to_string(std::llround(value)); };
  const std::string events = rounded(effort.events * 1e-6) + " million events";
  if (effort.log_bytes > most_too_large * static_cast<double>(options.memory_limit))
    throw ArgumentError("memory_limit",
                        std::to_string(options.memory_limit) + " for a call that takes about " +
                            rounded(effort.log_bytes) + " bytes (" + events + ", " + rounded(effort.seconds) +
                            " s)",
                        "more, or a smaller size or fewer ranks");
  if (effort.seconds > least_s)
    options.say("about " + events + ", " + rounded(effort.log_bytes * 1e-6) + " MB, " +
                rounded(effort.seconds) + " s");
}

int median_call(const std::vector<Cycles>& times) {
  std::vector<Cycles> sorted = times;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return static_cast<int>(std::find(times.begin(), times.end(), *middle) - times.begin());
}

// The call's transactions and lines.
void report_call(const Log& log, Explanation* found) {
  std::map<std::pair<Request, Source>, TransactionReport> kinds;
  std::map<LineId, LineReport> lines;
  std::map<LineId, std::pair<std::set<int>, std::set<int>>> ranks;
  for (const TransferRecord& x : log.transfers) {
    if (x.issued < found->begin || x.issued >= found->end) continue;
    TransactionReport& kind = kinds[{x.kind, x.source}];
    kind.kind = x.kind;
    kind.source = x.source;
    ++kind.count;
    kind.time += x.filled - x.issued;
    kind.queued += x.begun - x.arrived;
    kind.invalidated += x.invalidated;
    LineReport& line = lines[x.line];
    line.directory = x.directory;
    ++line.requests;
    line.from_caches += x.source == Source::cache;
    line.from_memory += x.source == Source::memory;
    line.invalidated += x.invalidated;
    line.waited += x.begun - x.taken_up;
    line.time += x.filled - x.issued;
  }
  for (const OperationRecord& x : log.operations) {
    const auto at = lines.find(x.line);
    if (at == lines.end()) continue;
    LineReport& line = at->second;
    const bool writes = x.kind == OperationKind::store || x.kind == OperationKind::atomic;
    const bool reads = x.kind == OperationKind::load || x.kind == OperationKind::wait;
    // A store of the call before may have become visible in this one, a wait may have ended in it.
    const bool before = reads ? x.ended <= found->begin : std::max(x.begun, x.visible) < found->begin;
    if (before || x.begun >= found->end) continue;
    if (writes) {
      ranks[x.line].first.insert(x.rank);
      if (line.writer < 0) line.writer = x.rank;
      line.atomic = line.atomic || x.kind == OperationKind::atomic;
    } else if (reads) {
      ranks[x.line].second.insert(x.rank);
      if (line.reader < 0) line.reader = x.rank;
    }
  }
  for (const auto& kind : kinds) found->transactions.push_back(kind.second);
  for (auto& at : lines) {
    at.second.line = at.first;
    at.second.byte = std::size_t{at.first} * 64;
    at.second.writers = static_cast<int>(ranks[at.first].first.size());
    at.second.readers = static_cast<int>(ranks[at.first].second.size());
    found->lines.push_back(at.second);
  }
  std::stable_sort(found->lines.begin(), found->lines.end(), [](const LineReport& a, const LineReport& b) {
    return std::make_tuple(-a.waited, -a.time) < std::make_tuple(-b.waited, -b.time);
  });
}

// The servers and directories in all reported calls.
void report_servers(Explanation* found) {
  found->counted = less(found->run.counters, found->run.counted_before);
  const double elapsed =
      static_cast<double>(std::max<Cycles>(found->run.counted_to - found->run.counted_from, 1));
  found->centres = centres_of(found->counted, found->machine.p, elapsed, found->cores);
  if (found->machine.p.protocol == Protocol::directory) {
    for (std::size_t d = 0; d < found->counted.directories.size(); ++d) {
      const ServiceCount& count = found->counted.directories[d];
      DirectoryReport report;
      report.directory = static_cast<int>(d);
      report.served = count.served;
      report.utilisation = static_cast<double>(count.busy) / elapsed;
      if (count.served > 0)
        report.queued = static_cast<double>(count.queued) / static_cast<double>(count.served);
      for (const LineReport& line : found->lines) report.lines += line.directory == report.directory;
      found->directories.push_back(report);
    }
    std::stable_sort(
        found->directories.begin(), found->directories.end(),
        [](const DirectoryReport& a, const DirectoryReport& b) { return a.utilisation > b.utilisation; });
  }
}

}  // namespace

Explanation explain_collective(const Machine& machine, const AlgorithmSpec& spec, const Shape& shape,
                               const ExplainOptions& options) {
  const measure::Work& work = options.work;
  if (options.calls < 1) throw ArgumentError("calls", std::to_string(options.calls), "1 or more");
  if (options.call < -1 || options.call >= options.calls)
    throw ArgumentError("call", std::to_string(options.call),
                        "0 to " + std::to_string(options.calls - 1) +
                            ", the calls that are simulated, or -1 for the one of median time");
  Explanation found;
  found.machine = machine;
  found.spec = spec;
  const AlgorithmSpec effective = simulated_in_effect(spec, shape, work.facts());
  found.effective = effective.text();
  found.shared_bytes = family(work.operation).footprint(effective, shape);
  found.shape = shape;
  found.options = options;
  for (int r = 0; r < shape.size(); ++r) found.cores.push_back(shape[r].cpu / machine.p.contexts_per_core);

  CollectiveOptions settings;
  settings.calls = options.calls;
  settings.warm_up = options.warm_up;
  settings.window = options.window;
  settings.simulation.seed = round_seed(options.seed, 0);  // as in the first round of a run
  settings.simulation.wait = options.wait;
  settings.simulation.start_skew = options.start_skew;
  settings.simulation.stop = options.stop;
  if (work.moves_data()) check_effort(expected_effort(machine, effective, shape, options, settings), options);
  settings.counts_reported = true;
  found.run = simulate_collective(machine, work, effective, shape, settings);
  found.times = found.run.times(options.window);
  if (options.call < 0) found.options.call = median_call(found.times);
  const int call = found.options.call;

  // The same once more, as a simulation is the same each time, to log the call that it is about: the log of
  // all calls takes gigabytes where data moves.
  settings.counts_reported = false;
  settings.simulation.log = true;
  settings.simulation.log_limit = options.memory_limit;
  if (!options.log_all) settings.simulation.log_call = call;
  CollectiveRun logged = simulate_collective(machine, work, effective, shape, settings);
  const auto compared = logged.cut ? static_cast<std::ptrdiff_t>(call + 2) * shape.size()
                                   : static_cast<std::ptrdiff_t>(logged.exit.size());
  if (!std::equal(logged.exit.begin(), logged.exit.begin() + compared, found.run.exit.begin()))
    throw Error("simulation: two runs of the same calls differ");
  found.run.log = std::move(logged.log);
  const Log& log = *found.run.log;
  found.path = critical_path(log, found.cores, call);
  found.end = found.path.to;
  found.begin = found.end - found.times[static_cast<std::size_t>(call)];
  report_call(*found.run.log, &found);
  report_servers(&found);
  return found;
}

}  // namespace sim
}  // namespace phicoll
