#include "phicoll/measure/sweep.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "phicoll/group/options.hpp"
#include "phicoll/measure/round_probe.hpp"
#include "phicoll/measure/sample.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/facts.hpp"
#include "phicoll/support/random.hpp"
#include "phicoll/support/statistics.hpp"

namespace phicoll {
namespace measure {

namespace {

struct Interrupted {};

// The Subject::key() of a point's record.
std::string key_of(const JsonValue& point) {
  Work work = parse_measured(point["operation"].string);
  work.bytes = static_cast<std::uint64_t>(point["size_bytes"].number);
  if (work.moves_data()) work.set_buffers(point["buffers"].string);
  if (work.reduces()) {
    work.type = parse_type(point["type"].string);
    work.op = parse_op(point["op"].string);
  }
  return work.text() + " " + point["spec"].string;
}

}  // namespace

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
  const os::CpuTimes before = os::cpu_times();
  result.reason = "complete";
  try {
    run_all();
    if (left_out_ || (rounds_now_ < rounds_total_ && !width_reached())) result.reason = "budget";
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
      .add("points", static_cast<std::int64_t>(std::count_if(
                         points_.begin(), points_.end(), [](const auto& p) { return p.second->written; })))
      .add("samples", static_cast<std::int64_t>(samples_));
  const double stolen = os::steal_share(before, os::cpu_times());
  end.add_if(stolen >= 0, "steal_share", stolen, 4)
      .add_if(settings_.target_width > 0, "width_reached", width_reached());
  writer_.write("end", run_, end);
  result.unverified = unverified_;
  return result;
}

void Sweep::run_all() {
  std::map<int, int> left;
  int units = 0;
  for (const int ranks : settings_.ranks) {
    left[ranks] = rounds_left(ranks);
    units += (left[ranks] + settings_.rounds - 1) / settings_.rounds;
    rounds_total_ += left[ranks];
  }
  for (int launch = first_launch_; units > 0; ++launch) {
    std::vector<int> order = settings_.ranks;
    Random random(mix_seed(settings_.seed, 1, static_cast<std::uint64_t>(launch)));
    random.shuffle(order);
    bool any = false;
    auto others = static_cast<double>(order.size());  // numbers of ranks that have no round yet
    for (const int ranks : order) {
      if (left[ranks] == 0) continue;
      const double now = elapsed_s();
      const double time_left = settings_.budget_s > 0 ? settings_.budget_s - now : HUGE_VAL;
      // Each number of ranks gets at least one round; a later launch, if there is time for another.
      if (launch > first_launch_ && costs_[ranks].start_s + costs_[ranks].round_s > time_left) continue;
      const int rounds = std::min(settings_.rounds, left[ranks]);
      // Each unit gets an equal share of the time left, so that no number of ranks is left out. Half of the
      // time of the first is for verifying, which takes most of it where calls are slow.
      run_unit(launch, ranks, rounds, now + time_left / units, now + time_left / others / 2);
      left[ranks] -= rounds;
      --units;
      --others;
      any = true;
    }
    if (!any) return;
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

int Sweep::rounds_left(int ranks) const {
  const auto done = rounds_done_.find(ranks);
  return std::max(0, settings_.launches * settings_.rounds - (done == rounds_done_.end() ? 0 : done->second));
}

// An estimate from the time of the first round with `ranks` ranks.
void Sweep::say_estimate(int ranks) const {
  constexpr double least_s = 2;  // a shorter run ends before this is read
  const Cost& cost = costs_.at(ranks);
  double all_s = 0;
  for (const int other : settings_.ranks) {
    const int left = rounds_left(other);
    const int launches = (left + settings_.rounds - 1) / settings_.rounds;
    all_s += (launches * cost.start_s + left * cost.round_s) * other / ranks;
  }
  if (!settings_.estimate || all_s < least_s) return;
  char text[160];
  if (settings_.budget_s > 0 && all_s > settings_.budget_s)
    std::snprintf(text, sizeof text,
                  "note: all rounds take about %.0f s; the budget ends the sweep after %g s", all_s,
                  settings_.budget_s);
  else
    std::snprintf(text, sizeof text, "note: all rounds take about %.0f s", all_s);
  say_(text);
}

void Sweep::run_unit(int launch, int ranks, int rounds, double until_s, double verified_until_s) {
  const Shape shape = shape_on_host(ranks, settings_.placement);
  const double begun_s = elapsed_s();
  start_sets(launch, ranks, shape, verified_until_s);
  if (sets_.empty()) return;
  const double started_s = elapsed_s();

  const auto unit = static_cast<std::uint64_t>(launch) * 2048 + static_cast<std::uint64_t>(ranks);
  for (int round = 0; round < rounds; ++round) {
    check_interrupt();
    if (round > 0 && elapsed_s() > until_s) break;
    Random random(mix_seed(settings_.seed, 2, unit, static_cast<std::uint64_t>(round)));
    // Uses all places before one comes again, across launches too.
    const auto turn = static_cast<std::size_t>(launch) * static_cast<std::size_t>(settings_.rounds) +
                      static_cast<std::size_t>(round);
    const std::size_t number = turn % places_.size();
    const std::size_t place = places_[number];

    std::vector<Task> tasks;
    for (const auto& set : sets_) {
      if (!set->openmp) probe(*set, launch, round, number, random.next());
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
      sample(task, launch, round, order++, place, random.next());
    }
    ++rounds_now_;
    if (round == 0) costs_.insert({ranks, Cost{started_s - begun_s, elapsed_s() - started_s}});
    if (rounds_now_ == 1) say_estimate(ranks);
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

void Sweep::probe(LiveSet& set, int launch, int round, std::size_t number, std::uint64_t seed) {
  const RoundProbe seen = probe_round(set, places_[number], seed);
  JsonObject fields;
  fields.add("launch", launch)
      .add("round", round)
      .add("mode", set.mode)
      .add("ranks", set.shape.size())
      .add("place", static_cast<std::uint64_t>(number))
      .add("offset", static_cast<std::uint64_t>(places_[number]))
      .add("t_s", elapsed_s() + earlier_s_, 4);
  seen.add_to(fields);
  fields.add("empty_ns", set.empty_ns, 4);
  std::vector<std::string> copies;
  std::vector<std::string> probed;
  for (const Point* point : set.points) {
    const Work& work = point->subject.work;
    if (work.bytes < least_copy_bytes || work.program.any()) continue;
    if (std::find(probed.begin(), probed.end(), work.text()) != probed.end()) continue;
    probed.push_back(work.text());
    copies.push_back(probe_copy(set, work, places_[number], seed, clock_.clock).json().text());
  }
  if (!copies.empty()) fields.raw("copies", json_list(copies));
  if (seen.pairs.size() > 1) fields.raw("pairs", json_list(seen.pairs));
  writer_.write("round", run_, fields);
}

void Sweep::sample(const Task& task, int launch, int round, int order, std::size_t place,
                   std::uint64_t seed) {
  JsonObject fields;
  fields.add("point", task.point->number).add("launch", launch).add("round", round).add("order", order);
  const bool before = task.point->verified;
  take_sample(*task.set, *task.point, *task.definition, settings_, clock_.clock, place, seed, fields);
  writer_.write("sample", run_, fields);
  ++samples_;
  if (before && !task.point->verified) {
    unverified_ = true;
    say_once("wrong: " + task.point->title() + ": " + task.point->error);
    write_point(*task.set, *task.point);
  }
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
      std::unique_ptr<Point>& point = points_[PointKey(record["mode"].string, ranks, key_of(record))];
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
  // A round counts if it has all of its samples. One that was cut off is repeated in a new launch.
  for (const auto& round : in_round) {
    const int ranks = std::get<0>(round.first);
    if (round.second >= points_of_ranks[ranks] * static_cast<int>(settings_.definitions.size()))
      ++rounds_done_[ranks];
  }
}

}  // namespace measure
}  // namespace phicoll
