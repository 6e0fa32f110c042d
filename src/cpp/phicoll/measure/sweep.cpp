#include "phicoll/measure/sweep.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "phicoll/errors.hpp"
#include "phicoll/group/options.hpp"
#include "phicoll/measure/hand_loops.hpp"
#include "phicoll/measure/probes.hpp"
#include "phicoll/measure/random.hpp"
#include "phicoll/measure/statistics.hpp"
#include "phicoll/os/clock.hpp"

namespace phicoll {
namespace measure {

namespace {

// No step takes longer than about this: fewer calls are made and recorded as such.
constexpr double step_cap_ns = 50e6;
// A loop of automatic length.
constexpr double loop_aim_ns = 250e3;
constexpr int least_loop_calls = 16;
constexpr int most_loop_calls = 8000;
// Untimed calls after a hand-over: caches, branch predictors and wake-ups settle. The exits of short waiting
// loops take a processor some thousand calls to learn: 300 timed calls behind 32 others showed 1.25 where
// 10,000 showed 1.08.
constexpr double warm_aim_ns = 100e3;
constexpr int most_warmups = 2000;
constexpr int verify_episodes = 300;
constexpr int again_episodes = 100;  // in later launches
constexpr int least_episodes = 20;
constexpr double verify_timeout_s = 60;
constexpr double verify_cap_ns = 100e6;
constexpr double jitter_ns = 1000;
// The region's front belongs to the meeting barrier of a set.
constexpr std::size_t first_place = 4096;
constexpr std::size_t places_span = std::size_t{8} << 20;
constexpr std::size_t places_count = 64;
constexpr double step_timeout_s = 30;
constexpr std::size_t most_far_pairs = 4;

// What one eviction takes at most, as a rule.
constexpr double evict_line_ns = 200;

// A read below so many L1 hits never left the core. Two CPUs that were one core showed 2.8 between processes
// and 4.9 between threads; the fastest read from another core was 18.
constexpr double same_core_hits = 8;

struct Interrupted {};

}  // namespace

struct Sweep::Point {
  int number = 0;
  Subject subject;
  std::string mode;
  int ranks = 0;
  bool written = false;
  bool verified = false;
  bool excluded = false;  ///< could not even be verified: it hung, or its set died
  std::string error;
  std::uint64_t episodes = 0;
  std::string library;  ///< an OpenMP reference's runtime as it was really loaded
  std::vector<int> observed;
  std::uint32_t index = 0;  ///< in the set of the launch in hand
  double estimate_ns = 0;   ///< of a call
  double slack_ns = 0;
  std::map<std::string, std::vector<double>> values;  ///< by definition
};

struct Sweep::LiveSet {
  std::unique_ptr<WorkerSet> workers;
  std::string mode;  ///< threads, processes: as recorded
  bool openmp = false;
  Shape shape;
  std::vector<Point*> points;
  double empty_ns = 0;
};

struct Sweep::Task {
  LiveSet* set;
  Point* point;
  const std::string* definition;
};

Sweep::Sweep(const Settings& settings, Programs programs, const ClockFacts& clock, RecordWriter& writer,
             std::string run, std::function<void(const std::string&)> say,
             const std::atomic<bool>& interrupted)
    : settings_(settings),
      programs_(std::move(programs)),
      clock_(clock),
      writer_(writer),
      run_(std::move(run)),
      say_(std::move(say)),
      interrupted_(interrupted),
      start_ns_(os::now_ns()) {}

Sweep::~Sweep() = default;

double Sweep::elapsed_s() const {
  return static_cast<double>(os::now_ns() - start_ns_) * 1e-9;
}

void Sweep::check_interrupt() const {
  if (interrupted_.load(std::memory_order_relaxed)) throw Interrupted();
}

void Sweep::say_once(const std::string& text) {
  if (std::find(said_.begin(), said_.end(), text) != said_.end()) return;
  said_.push_back(text);
  say_(text);
}

SweepResult Sweep::run() {
  SweepResult result;
  result.reason = "complete";
  try {
    run_all();
    if (rounds_now_ < rounds_total_ && !width_reached()) result.reason = "budget";
  } catch (const Interrupted&) {
    result.reason = "interrupted";
  } catch (const SetFailure& failure) {
    result.reason = "failed";
    result.error = failure.what();
  }
  sets_.clear();
  JsonObject end;
  end.add("reason", result.reason);
  if (!result.error.empty()) end.add("error", result.error);
  end.add("elapsed_s", elapsed_s() + earlier_s_)
      .add("points", static_cast<std::int64_t>(points_.size()))
      .add("samples", static_cast<std::int64_t>(samples_));
  if (settings_.target_width > 0)
    end.add("width_reached", width_reached());
  else
    end.null("width_reached");
  writer_.write("end", run_, end);
  result.unverified = unverified_;
  return result;
}

void Sweep::run_all() {
  std::map<int, int> left;
  int units = 0;
  for (const int ranks : settings_.ranks) {
    left[ranks] = std::max(0, settings_.launches * settings_.rounds - rounds_done_[ranks]);
    units += (left[ranks] + settings_.rounds - 1) / settings_.rounds;
    rounds_total_ += left[ranks];
  }
  for (int launch = first_launch_; units > 0; ++launch) {
    std::vector<int> order = settings_.ranks;
    Random random(mix_seed(settings_.seed, 1, static_cast<std::uint64_t>(launch)));
    random.shuffle(order);
    for (const int ranks : order) {
      if (left[ranks] == 0) continue;
      // Each number of ranks has at least one round.
      if (settings_.budget_s > 0 && launch > first_launch_ && elapsed_s() > settings_.budget_s) return;
      const int rounds = std::min(settings_.rounds, left[ranks]);
      // Each launch gets an equal share of the time that is left, so that no rank count goes without.
      const double until =
          settings_.budget_s > 0 ? elapsed_s() + (settings_.budget_s - elapsed_s()) / units : HUGE_VAL;
      run_unit(launch, ranks, rounds, until);
      left[ranks] -= rounds;
      --units;
    }
    if (settings_.target_width > 0 && width_reached()) return;
  }
}

bool Sweep::width_reached() const {
  if (settings_.target_width <= 0 || points_.empty()) return false;
  for (const auto& entry : points_) {
    const Point& point = *entry.second;
    if (point.excluded) continue;
    for (const std::string& definition : settings_.definitions) {
      const auto found = point.values.find(definition);
      if (found == point.values.end()) return false;
      const Interval interval = median_interval(found->second, 0.95);
      if (!interval.valid || interval.high - interval.low > settings_.target_width * interval.value)
        return false;
    }
  }
  return true;
}

void Sweep::run_unit(int launch, int ranks, int rounds, double until_s) {
  const Shape shape = shape_on_host(ranks, settings_.placement);
  start_sets(launch, ranks, shape);
  if (sets_.empty()) return;

  const auto unit = static_cast<std::uint64_t>(launch) * 2048 + static_cast<std::uint64_t>(ranks);
  for (int round = 0; round < rounds; ++round) {
    check_interrupt();
    if (round > 0 && elapsed_s() > until_s) break;
    Random random(mix_seed(settings_.seed, 2, unit, static_cast<std::uint64_t>(round)));
    // Walks through all places before one comes again, also over launches.
    const auto turn = static_cast<std::size_t>(launch) * static_cast<std::size_t>(settings_.rounds) +
                      static_cast<std::size_t>(round);
    const std::size_t number = turn % places_.size();
    const std::size_t place = places_[number];

    std::vector<Task> tasks;
    for (const auto& set : sets_) {
      if (!set->openmp) probe(*set, launch, round, number, place, random.next());
      for (Point* point : set->points)
        for (const std::string& definition : settings_.definitions)
          tasks.push_back(Task{set.get(), point, &definition});
    }
    for (const auto& set : sets_)
      if (set->openmp) set->empty_ns = sets_.front()->empty_ns;
    random.shuffle(tasks);
    int order = 0;
    for (Task& task : tasks) {
      check_interrupt();
      measure(task, launch, round, order++, place, random.next());
    }
    ++rounds_now_;
    if (settings_.progress && (elapsed_s() - last_progress_s_ > 0.2 || rounds_now_ == rounds_total_)) {
      last_progress_s_ = elapsed_s();
      char text[160];
      std::snprintf(text, sizeof text, "progress: %d %d launch %d with %d ranks, %.1f s", rounds_now_,
                    rounds_total_, launch, ranks, elapsed_s());
      say_(text);
    }
  }
  sets_.clear();
}

void Sweep::start_sets(int launch, int ranks, const Shape& shape) {
  sets_.clear();
  GroupOptions options;
  std::size_t largest = std::max(Probes::bytes(), std::size_t{4096} + HandCounterPerCpu::footprint(shape) +
                                                      HandFlatFlags::footprint(shape));
  std::map<std::string, std::vector<const Subject*>> members;
  for (const std::string& mode : settings_.modes)
    for (const Subject& subject : settings_.subjects) {
      const std::string spec = subject.text();
      const std::string why = why_not(subject, mode, shape);
      const std::string what = spec + " with " + std::to_string(ranks) + " ranks as " + mode;
      if (!why.empty()) {
        say_once("skipped: " + what + ": " + why);
        continue;
      }
      const auto known = points_.find(PointKey(mode, ranks, spec));
      if (known != points_.end() && known->second->excluded) continue;
      if (subject.reference && is_openmp_reference(subject.info.name)) {
        if (settings_.start == "evicted")
          say_once("skipped: " + subject.info.name + ": its flags are out of reach, they can't be evicted");
        else if (programs_.openmp.count(subject.info.name) == 0)
          say_once("skipped: " + subject.info.name + ": the library is not installed here");
        else
          members[subject.info.name].push_back(&subject);
        continue;
      }
      if (subject.reference && subject.info.name == "std-barrier" && !programs_.std_barrier) {
        say_once("skipped: std-barrier: this phicoll-bench was built without C++20's <barrier>");
        continue;
      }
      if (!subject.reference) {
        const std::size_t footprint = barrier_footprint(subject.spec, shape);
        if (footprint + first_place > options.memory_limit) {
          say_once("skipped: " + what + ": it takes " + std::to_string(footprint) +
                   " bytes of shared memory, more than the group's limit of " +
                   std::to_string(options.memory_limit));
          continue;
        }
        largest = std::max(largest, footprint);
      }
      members[mode].push_back(&subject);
    }

  // The places: as many as a region of some MB gives, the same for every set of the launch.
  const std::size_t room = std::min(places_span, options.memory_limit - first_place - largest);
  Random random(mix_seed(settings_.seed, 3));
  places_.clear();
  for (std::size_t i = 0; i < places_count; ++i)
    places_.push_back(first_place + static_cast<std::size_t>(random.below(room / 64 + 1)) * 64);

  // A set of threads or processes is there even if it has no subject: it has the probes.
  for (const std::string& mode : settings_.modes)
    add_set(mode, mode == "threads" ? programs_.threads : programs_.processes, ranks, shape, members[mode]);
  for (const auto& program : programs_.openmp)
    if (!members[program.first].empty())
      add_set(program.first, program.second, ranks, shape, members[program.first]);

  for (std::size_t s = 0; s < sets_.size(); ++s)
    for (Point* point : sets_[s]->points) {
      check_interrupt();
      try {
        verify(*sets_[s], *point, launch);
      } catch (const SetFailure& failure) {
        // A subject that hangs, throws or crashes takes its set with it, not the run: it is marked, and the
        // launch starts again without it. Who kills a process from outside means the run.
        if (failure.killed()) throw;
        exclude(*sets_[s], *point, failure.what());
        start_sets(launch, ranks, shape);
        return;
      }
    }
}

void Sweep::add_set(const std::string& mode, const WorkerSet::Program& program, int ranks, const Shape& shape,
                    const std::vector<const Subject*>& subjects) {
  const bool openmp = is_openmp_reference(mode);
  std::unique_ptr<LiveSet> set(new LiveSet());
  set->mode = openmp ? "threads" : mode;
  set->openmp = openmp;
  set->shape = shape;
  SetConfig config;
  config.mode = openmp ? "openmp" : mode;
  config.ranks = ranks;
  config.placement = settings_.placement;
  config.wait = settings_.wait;
  for (int r = 0; r < ranks; ++r) config.cpus.push_back(shape[r].cpu);
  for (const Subject* subject : subjects) {
    std::unique_ptr<Point>& point = points_[PointKey(set->mode, ranks, subject->text())];
    if (!point) {
      point.reset(new Point());
      point->number = static_cast<int>(points_.size()) - 1;
    }
    point->subject = *subject;
    point->mode = set->mode;
    point->ranks = ranks;
    point->index = static_cast<std::uint32_t>(config.subjects.size());
    config.subjects.push_back(subject->text());
    set->points.push_back(point.get());
  }
  const auto most_calls = static_cast<std::size_t>(std::max(settings_.window_calls, 64));
  set->workers.reset(new WorkerSet(config, program, most_calls, clock_.clock));
  sets_.push_back(std::move(set));
}

void Sweep::verify(LiveSet& set, Point& point, int launch) {
  Step step = Step();
  step.kind = StepKind::verify;
  step.subject = point.index;
  step.place = places_[static_cast<std::size_t>(launch) % places_.size()];
  step.calls = point.written ? again_episodes : verify_episodes;
  step.warmups = least_episodes;
  step.seed = mix_seed(settings_.seed, 4, static_cast<std::uint64_t>(launch));
  step.jitter_ns = jitter_ns;
  step.cap_ns = verify_cap_ns;
  set.workers->run(step, verify_timeout_s);
  const bool before = point.verified;
  const bool first = !point.written;
  point.verified = true;
  point.error.clear();
  point.observed.clear();
  double elapsed = 0;
  for (int r = 0; r < point.ranks; ++r) {
    const RankReport& report = set.workers->report(r);
    point.observed.push_back(report.cpu);
    point.episodes = report.calls;
    elapsed = std::max(elapsed, clock_.clock.to_ns(report.ticks));
    if (report.violated != 0 && point.error.empty()) {
      point.verified = false;
      point.error = report.error;
    }
    if (set.openmp) point.library = report.note;
  }
  point.estimate_ns = elapsed / static_cast<double>(std::max<std::uint64_t>(1, point.episodes));
  if (!point.verified) {
    unverified_ = true;
    say_once("not a barrier: " + point.subject.text() + " with " + std::to_string(point.ranks) +
             " ranks as " + point.mode + ": " + point.error);
  }
  if (first || before != point.verified) write_point(set, point);
  point.written = true;
}

namespace {

std::string values_json(const ParameterValues& values) {
  JsonObject object;
  for (const auto& value : values) {
    const bool digits =
        !value.second.empty() && value.second.find_first_not_of("0123456789") == std::string::npos;
    if (digits)
      object.raw(value.first, value.second);
    else
      object.add(value.first, value.second);
  }
  return object.text();
}

std::string value_of(const ParameterValues& values, const char* name, const char* otherwise) {
  for (const auto& value : values)
    if (value.first == name) return value.second;
  return otherwise;
}

}  // namespace

void Sweep::exclude(const LiveSet& set, Point& point, const std::string& why) {
  point.excluded = true;
  point.verified = false;
  point.error = why;
  point.written = true;
  unverified_ = true;
  say_("left out: " + point.subject.text() + " with " + std::to_string(point.ranks) + " ranks as " +
       point.mode + ": " + why);
  write_point(set, point);
}

void Sweep::write_point(const LiveSet& set, const Point& point) {
  const Subject& subject = point.subject;
  JsonObject fields;
  fields.add("point", point.number).add("operation", "barrier").add("algorithm", subject.info.name);
  fields.add("spec", subject.text());
  std::string wait = "none";
  std::string store = "plain";
  std::string chosen = "null";
  if (subject.reference) {
    fields.raw("parameters", "{}").raw("effective", "{}");
  } else {
    const BarrierSpec effective = effective_barrier(subject.spec, set.shape);
    fields.raw("parameters", values_json(subject.spec.values))
        .raw("effective", values_json(effective.values));
    wait = effective.has_wait ? to_string(effective.wait) : settings_.wait;
    store = value_of(effective.values, "store", "plain");
    if (subject.spec.name == "auto")
      chosen = JsonObject().add("spec", effective.text()).add("why", choose_barrier(set.shape).why).text();
  }
  fields.add("origin", to_string(subject.info.origin));
  fields.add("source",
             point.library.empty() ? subject.info.source : subject.info.source + ", " + point.library);
  fields.add("wait", wait).add("store", store).add("mode", point.mode).add("machine", "host");
  std::vector<int> cpus;
  for (const Place& place : set.shape.places()) cpus.push_back(place.cpu);
  fields.add("ranks", point.ranks)
      .raw("cpus", json_integers(cpus))
      .add("placement", settings_.placement)
      .raw("observed_cpus", json_integers(point.observed))
      .add("oversubscribed", set.shape.oversubscribed())
      .add("size_bytes", 0)
      .raw("chosen", chosen)
      .add("verified", point.verified);
  JsonObject verification;
  verification.add("episodes", point.episodes);
  if (point.error.empty())
    verification.null("error");
  else
    verification.add("error", point.error);
  fields.raw("verification", verification.text());
  writer_.write("point", run_, fields);
}

namespace {

struct RankPair {
  int a = -1;
  int b = -1;
};

// Up to `most` pairs of ranks on distinct CPUs, no pair of CPUs twice.
std::vector<RankPair> far_pairs(const Shape& shape, Random& random, std::size_t most) {
  std::vector<int> ranks;
  for (int r = 0; r < shape.size(); ++r) ranks.push_back(r);
  random.shuffle(ranks);
  std::vector<RankPair> pairs;
  std::vector<std::pair<int, int>> seen;
  for (std::size_t i = 0; i < ranks.size() && pairs.size() < most; ++i)
    for (std::size_t j = i + 1; j < ranks.size() && pairs.size() < most; ++j) {
      const int a = shape[ranks[i]].cpu;
      const int b = shape[ranks[j]].cpu;
      if (a == b) continue;
      const std::pair<int, int> cpus(std::min(a, b), std::max(a, b));
      if (std::find(seen.begin(), seen.end(), cpus) != seen.end()) continue;
      seen.push_back(cpus);
      pairs.push_back(RankPair{ranks[i], ranks[j]});
    }
  return pairs;
}

RankPair near_pair(const Shape& shape, Random& random) {
  std::vector<RankPair> pairs;
  for (int a = 0; a < shape.size(); ++a)
    for (int b = a + 1; b < shape.size(); ++b)
      if (shape[a].cpu == shape[b].cpu) pairs.push_back(RankPair{a, b});
  if (pairs.empty()) return RankPair();
  return pairs[static_cast<std::size_t>(random.below(pairs.size()))];
}

double median_or(const std::vector<double>& values, double otherwise) {
  return values.empty() ? otherwise : median(values);
}

void number_or_null(JsonObject& object, const char* name, double value) {
  if (value < 0)
    object.null(name);
  else
    object.add(name, value, 2);
}

}  // namespace

void Sweep::probe(LiveSet& set, int launch, int round, std::size_t place_number, std::size_t place,
                  std::uint64_t seed) {
  Random random(seed);
  Step step = Step();
  step.place = place;
  step.seed = random.next();

  step.kind = StepKind::probe_alone;
  step.pair[0] = step.pair[1] = 0;
  set.workers->run(step, step_timeout_s);
  const double local_ns = set.workers->report(0).local_ns;
  set.empty_ns = set.workers->report(0).empty_ns;

  std::vector<double> reads, pings;
  std::vector<std::string> pairs;
  step.kind = StepKind::probe_far;
  step.calls = 64;
  for (const RankPair& pair : far_pairs(set.shape, random, most_far_pairs)) {
    step.pair[0] = pair.a;
    step.pair[1] = pair.b;
    set.workers->run(step, step_timeout_s);
    pings.push_back(set.workers->report(pair.a).pingpong_ns);
    reads.push_back(set.workers->report(pair.b).read_ns);
    pairs.push_back(JsonObject()
                        .raw("cpus", json_integers({set.shape[pair.a].cpu, set.shape[pair.b].cpu}))
                        .add("pingpong_ns", pings.back(), 2)
                        .add("read_ns", reads.back(), 2)
                        .text());
  }
  double switch_ns = -1;
  const RankPair near = near_pair(set.shape, random);
  if (near.a >= 0) {
    step.kind = StepKind::probe_near;
    step.calls = 64;
    step.pair[0] = near.a;
    step.pair[1] = near.b;
    set.workers->run(step, step_timeout_s);
    switch_ns = set.workers->report(near.a).switch_ns;
  }
  const double read_ns = median_or(reads, -1);
  JsonObject fields;
  fields.add("launch", launch)
      .add("round", round)
      .add("mode", set.mode)
      .add("ranks", set.shape.size())
      .add("place", static_cast<std::uint64_t>(place_number))
      .add("offset", static_cast<std::uint64_t>(place))
      .add("t_s", elapsed_s() + earlier_s_, 4)
      .add("label", read_ns < same_core_hits * local_ns ? "same-core" : "remote");
  number_or_null(fields, "local_ns", local_ns);
  number_or_null(fields, "read_ns", read_ns);
  number_or_null(fields, "pingpong_ns", median_or(pings, -1));
  number_or_null(fields, "switch_ns", switch_ns);
  fields.add("empty_ns", set.empty_ns, 4);
  if (pairs.size() > 1) fields.raw("pairs", json_list(pairs));
  writer_.write("round", run_, fields);
}

void Sweep::measure(Task& task, int launch, int round, int order, std::size_t place, std::uint64_t seed) {
  Point& point = *task.point;
  WorkerSet& workers = *task.set->workers;
  const StampClock& clock = clock_.clock;
  const bool loop = *task.definition == "loop";
  const bool shares = task.set->shape.oversubscribed();
  const double estimate = std::max(1.0, point.estimate_ns);

  Step step = Step();
  step.kind = loop ? StepKind::loop : StepKind::window;
  step.subject = point.index;
  step.place = place;
  step.seed = seed;
  step.warmups =
      static_cast<std::uint64_t>(std::min(std::max(warm_aim_ns / estimate, 1.0), 1.0 * most_warmups));
  step.cap_ns = step_cap_ns;
  step.jitter_ns = jitter_ns;
  double asked = settings_.window_calls;
  if (loop) {
    step.delay_ns = settings_.delay_ns;
    step.imbalance_ns = settings_.imbalance_ns;
    const double turn = estimate + settings_.delay_ns + settings_.imbalance_ns;
    asked = settings_.calls > 0
                ? settings_.calls
                : std::min(std::max(loop_aim_ns / turn, 1.0 * least_loop_calls), 1.0 * most_loop_calls);
    step.calls = static_cast<std::uint64_t>(std::max(1.0, std::min(asked, step_cap_ns / turn)));
  } else {
    step.calls = static_cast<std::uint64_t>(asked);
    if (point.slack_ns <= 0)
      point.slack_ns = shares ? 2000 + 2500.0 * point.ranks : 1500 + 50.0 * point.ranks;
    step.slack_ns = point.slack_ns;
    if (settings_.start == "evicted") {
      step.evict_bytes =
          point.subject.reference ? Probes::bytes() : barrier_footprint(point.subject.spec, task.set->shape);
      // Each rank evicts its share between the announcement and the start.
      step.slack_ns += evict_line_ns * static_cast<double>(step.evict_bytes / arch::line_bytes) / point.ranks;
    }
  }
  workers.run(step, step_timeout_s);

  const std::uint64_t calls = workers.report(0).calls;
  JsonObject fields;
  fields.add("point", point.number)
      .add("launch", launch)
      .add("round", round)
      .add("order", order)
      .add("definition", *task.definition)
      .add("calls", calls)
      .add("capped", static_cast<double>(calls) < std::floor(asked));
  if (loop) {
    std::vector<double> ns;
    double total = 0;
    for (int r = 0; r < point.ranks; ++r) {
      const RankReport& report = workers.report(r);
      const double timed = clock.to_ns(report.ticks) - clock.to_ns(report.ideal_ticks);
      ns.push_back(timed / static_cast<double>(calls) - task.set->empty_ns);
      total = std::max(total, ns.back());
    }
    fields.add("delay_ns", settings_.delay_ns).add("imbalance_ns", settings_.imbalance_ns);
    fields.add("value_ns", total, 2).raw("ns", json_numbers(ns, 2));
    point.values["loop"].push_back(total);
    // The next estimate leans to the slow side: a cap is for bad times.
    point.estimate_ns = std::max(1.0, std::max(total, 0.5 * (total + point.estimate_ns)));
  } else {
    std::vector<double> ns;
    std::vector<std::string> entries, exits;
    std::uint64_t late = 0;
    const std::atomic<std::uint64_t>* starts = workers.board().starts();
    for (std::uint64_t i = 0; i < calls; ++i) {
      const std::uint64_t start = starts[i].load(std::memory_order_relaxed);
      std::vector<double> entry, exit;
      double last_in = -HUGE_VAL;
      double last_out = -HUGE_VAL;
      for (int r = 0; r < point.ranks; ++r) {
        const auto since = [&](std::uint64_t stamp) {
          return static_cast<double>(static_cast<std::int64_t>(stamp - start)) * clock.ns_per_tick;
        };
        entry.push_back(since(workers.board().entries(r)[i]));
        exit.push_back(since(workers.board().exits(r)[i]));
        last_in = std::max(last_in, entry.back());
        last_out = std::max(last_out, exit.back());
      }
      ns.push_back(last_out - last_in);
      entries.push_back(json_numbers(entry, 1));
      exits.push_back(json_numbers(exit, 1));
    }
    for (int r = 0; r < point.ranks; ++r) late += workers.report(r).late;
    // Starts that are missed often come too soon: the next sample gives the ranks longer.
    if (late * 10 > calls * static_cast<std::uint64_t>(point.ranks))
      point.slack_ns = std::min(point.slack_ns * 1.5, 2e6);
    const double value = midmean(ns);
    fields.add("delay_ns", 0).add("imbalance_ns", 0).add("value_ns", value, 2).raw("ns", json_numbers(ns, 1));
    fields.raw("entry_ns", json_list(entries)).raw("exit_ns", json_list(exits)).add("late", late);
    point.values["window"].push_back(value);
  }
  writer_.write("sample", run_, fields);
  ++samples_;
}

void Sweep::resume(const std::vector<JsonValue>& records) {
  std::map<int, int> point_ranks;
  std::map<int, int> points_of_ranks;
  std::map<std::tuple<int, int, int>, int> in_round;  // ranks, launch, round: samples
  for (const JsonValue& record : records) {
    if (record["run"].string != run_) continue;
    const std::string& kind = record["kind"].string;
    if (kind == "point") {
      const auto ranks = static_cast<int>(record["ranks"].number);
      const auto number = static_cast<int>(record["point"].number);
      std::unique_ptr<Point>& point = points_[PointKey(record["mode"].string, ranks, record["spec"].string)];
      if (!point) {
        point.reset(new Point());
        ++points_of_ranks[ranks];
      }
      point->number = number;
      point->mode = record["mode"].string;
      point->ranks = ranks;
      point->written = true;
      point->verified = record["verified"].boolean;
      if (!point->verified) unverified_ = true;
      point_ranks[number] = ranks;
    } else if (kind == "round") {
      first_launch_ = std::max(first_launch_, static_cast<int>(record["launch"].number) + 1);
      earlier_s_ = std::max(earlier_s_, record["t_s"].number);
    } else if (kind == "sample") {
      ++samples_;
      const auto number = static_cast<int>(record["point"].number);
      ++in_round[std::make_tuple(point_ranks[number], static_cast<int>(record["launch"].number),
                                 static_cast<int>(record["round"].number))];
    }
  }
  // A round counts when it has all of its samples; one that was cut off is made again in a new launch.
  for (const auto& round : in_round) {
    const int ranks = std::get<0>(round.first);
    if (round.second >= points_of_ranks[ranks] * static_cast<int>(settings_.definitions.size()))
      ++rounds_done_[ranks];
  }
}

}  // namespace measure
}  // namespace phicoll
