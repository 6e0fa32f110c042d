#include "phicoll/measure/sample.hpp"

#include <algorithm>
#include <cmath>

#include "phicoll/measure/probes.hpp"
#include "phicoll/measure/worker_set.hpp"
#include "phicoll/memory/untrusted.hpp"
#include "phicoll/support/statistics.hpp"

namespace phicoll {
namespace measure {

namespace {

constexpr double step_timeout_s = 30;
// The length of a loop if the number of calls is not given.
constexpr double loop_aim_ns = 250e3;
constexpr int least_loop_calls = 16;
constexpr int most_loop_calls = 8000;
// Untimed calls before a sample, in which caches, branch predictors and wake-ups settle. A processor takes
// some thousand calls to learn the exits of short waiting loops: 300 timed calls after 32 others showed 1.25
// where 10,000 showed 1.08. Long calls get as many as the MPIs measured beside them make, within the cap:
// after other subjects' turns, the first call finds its memory in no cache.
constexpr double warm_aim_ns = 100e3;
constexpr int most_warmups = 2000;
constexpr double least_warmups = 3;
// What one eviction takes at most, usually.
constexpr double evict_line_ns = 200;

std::uint64_t warmups(double estimate_ns, double cap_ns) {
  const double aim = std::max(warm_aim_ns / estimate_ns, std::min(least_warmups, cap_ns / estimate_ns));
  return static_cast<std::uint64_t>(std::max(1.0, std::min(aim, 1.0 * most_warmups)));
}

// Fills in a loop's calls and delays. Returns the number of calls before the cap on time.
double plan_loop(const Point& point, const Settings& settings, Step& step) {
  step.delay_ns = settings.delay_ns;
  step.imbalance_ns = settings.imbalance_ns;
  const double estimate = std::max(1.0, point.estimate_ns);
  const double turn = estimate + settings.delay_ns + settings.imbalance_ns + point.write_ns;
  const double asked = settings.calls > 0 ? settings.calls
                                          : std::min(std::max(loop_aim_ns / turn, 1.0 * least_loop_calls),
                                                     1.0 * most_loop_calls);
  step.calls = static_cast<std::uint64_t>(std::max(1.0, std::min(asked, settings.cap_ns / turn)));
  return asked;
}

double plan_window(const LiveSet& set, Point& point, const Settings& settings, Step& step) {
  step.calls = static_cast<std::uint64_t>(settings.window_calls);
  if (point.slack_ns <= 0)
    point.slack_ns = set.shape.oversubscribed() ? 2000 + 2500.0 * point.ranks : 1500 + 50.0 * point.ranks;
  step.slack_ns = point.slack_ns;
  if (settings.start == "evicted") {
    step.evict_bytes = std::max(subject_footprint(point.subject, set.shape),
                                point.subject.reference ? Probes::bytes() : std::size_t{0});
    // Between the announcement and the start, each rank evicts its share.
    step.slack_ns += evict_line_ns * static_cast<double>(step.evict_bytes / arch::line_bytes) /
                     (arch::evict_reaches_all_cores ? point.ranks : 1);
  }
  return settings.window_calls;
}

// The time to add to each rank's loop. Where ranks share CPUs, they write one after the other, with the calls
// and without, so every rank's time counts from the first rank's start. Elsewhere 0.
std::vector<double> ahead_ns(const LiveSet& set, const StampClock& clock, std::uint64_t RankReport::*start) {
  std::vector<double> ahead(static_cast<std::size_t>(set.shape.size()), 0);
  if (!set.shape.oversubscribed()) return ahead;
  std::uint64_t first = set.workers->report(0).*start;
  for (int r = 1; r < set.shape.size(); ++r) first = std::min(first, set.workers->report(r).*start);
  for (int r = 0; r < set.shape.size(); ++r)
    ahead[static_cast<std::size_t>(r)] = clock.to_ns(set.workers->report(r).*start - first);
  return ahead;
}

void add_loop(LiveSet& set, Point& point, const Settings& settings, const StampClock& clock,
              std::uint64_t calls, JsonObject& fields) {
  // With data: a rank that writes little waits for one that writes much, so a call without cost would take as
  // long as the slowest rank's writing. Without: the ideal time of the delays, the same for all ranks except
  // for the cost of reading the clock.
  const bool data = point.subject.work.moves_data();
  double writing = 0;
  if (data) {
    const std::vector<double> ahead = ahead_ns(set, clock, &RankReport::ideal_start);
    for (int r = 0; r < point.ranks; ++r)
      writing = std::max(
          writing, clock.to_ns(set.workers->report(r).ideal_ticks) + ahead[static_cast<std::size_t>(r)]);
  }
  std::vector<double> ns;
  double total = 0;
  const std::vector<double> ahead = ahead_ns(set, clock, &RankReport::start);
  for (int r = 0; r < point.ranks; ++r) {
    const RankReport& report = set.workers->report(r);
    const double timed = clock.to_ns(report.ticks) + ahead[static_cast<std::size_t>(r)] -
                         (data ? writing : clock.to_ns(report.ideal_ticks));
    // Less than nothing is left of a call that takes no longer than what its loop takes without it.
    ns.push_back(std::max(0.0, timed / static_cast<double>(calls) - (data ? 0 : set.empty_ns)));
    total = std::max(total, ns.back());
  }
  if (data) fields.add("write_ns", writing / static_cast<double>(calls), 2);
  fields.add("delay_ns", settings.delay_ns).add("imbalance_ns", settings.imbalance_ns);
  fields.add("value_ns", total, 2).raw("ns", json_numbers(ns, 2));
  point.values["loop"].push_back(total);
  // The estimate leans to the slow side, because the cap must hold when calls are slow.
  point.estimate_ns = std::max(1.0, std::max(total, 0.5 * (total + point.estimate_ns)));
}

// Of a bare loop with stamps: what a rank's copies into rings and out of them took, in each call.
void add_copies(LiveSet& set, const StampClock& clock, std::uint64_t calls, JsonObject& fields) {
  std::vector<double> stores, loads;
  for (int r = 0; r < set.shape.size(); ++r) {
    stores.push_back(clock.to_ns(set.workers->report(r).store_ticks) / static_cast<double>(calls));
    loads.push_back(clock.to_ns(set.workers->report(r).load_ticks) / static_cast<double>(calls));
  }
  fields.raw("store_ns", json_numbers(stores, 1)).raw("load_ns", json_numbers(loads, 1));
}

void add_window(LiveSet& set, Point& point, const StampClock& clock, std::uint64_t calls,
                JsonObject& fields) {
  StepBoard& board = set.workers->board();
  std::vector<double> ns;
  std::vector<std::string> entries, exits;
  std::uint64_t late = 0;
  const std::atomic<std::uint64_t>* starts = board.starts();
  for (std::uint64_t i = 0; i < calls; ++i) {
    const std::uint64_t start = starts[i].load(std::memory_order_relaxed);
    std::vector<double> entry, exit;
    double last_in = -HUGE_VAL;
    double last_out = -HUGE_VAL;
    for (int r = 0; r < point.ranks; ++r) {
      const auto since = [&](std::uint64_t stamp) {
        return static_cast<double>(static_cast<std::int64_t>(stamp - start)) * clock.ns_per_tick;
      };
      entry.push_back(since(board.entries(r)[i]));
      exit.push_back(since(board.exits(r)[i]));
      last_in = std::max(last_in, entry.back());
      last_out = std::max(last_out, exit.back());
    }
    ns.push_back(std::max(0.0, last_out - last_in));  // counters of two CPUs may be apart
    entries.push_back(json_numbers(entry, 1));
    exits.push_back(json_numbers(exit, 1));
  }
  for (int r = 0; r < point.ranks; ++r) late += set.workers->report(r).late;
  // If starts are often missed, they come too soon: the next sample gives the ranks more time.
  if (late * 10 > calls * static_cast<std::uint64_t>(point.ranks))
    point.slack_ns = std::min(point.slack_ns * 1.5, 2e6);
  const double value = midmean(ns);
  fields.add("delay_ns", 0).add("imbalance_ns", 0).add("value_ns", value, 2).raw("ns", json_numbers(ns, 1));
  fields.raw("entry_ns", json_list(entries)).raw("exit_ns", json_list(exits)).add("late", late);
  point.values["window"].push_back(value);
}

}  // namespace

void take_sample(LiveSet& set, Point& point, const std::string& definition, const Settings& settings,
                 const StampClock& clock, std::size_t place, std::uint64_t seed, JsonObject& fields) {
  const bool loop = definition == "loop";
  Step step = Step();
  step.kind = loop ? StepKind::loop : StepKind::window;
  step.work = point.subject.work;
  set_algorithm(step, point.subject.text());
  step.place = place;
  step.seed = seed;
  step.warmups = warmups(std::max(1.0, point.estimate_ns + point.write_ns), settings.cap_ns);
  step.cap_ns = settings.cap_ns;
  step.jitter_ns = usual_jitter_ns;
  const double asked = loop ? plan_loop(point, settings, step) : plan_window(set, point, settings, step);
  set.workers->run(step, step_timeout_s);

  for (int r = 0; r < point.ranks; ++r) {
    const RankReport& report = set.workers->report(r);
    if (untrusted(report.violated).is(0) || !point.verified) continue;
    point.verified = false;  // the last timed call left a wrong result
    point.error = untrusted_text(report.error);
  }
  const std::uint64_t most = loop ? UINT64_MAX : set.workers->board().most_calls();
  const std::uint64_t calls = untrusted(set.workers->report(0).calls).within(1, most, 0);
  if (calls == 0) throw SetFailure("rank 0: reported a number of calls that no step has");
  fields.add("definition", definition)
      .add("calls", calls)
      .add("capped", static_cast<double>(calls) < std::floor(asked));
  if (set.workers->report(0).store_ticks + set.workers->report(0).load_ticks != 0)
    add_copies(set, clock, calls, fields);
  if (loop)
    add_loop(set, point, settings, clock, calls, fields);
  else
    add_window(set, point, clock, calls, fields);
}

}  // namespace measure
}  // namespace phicoll
