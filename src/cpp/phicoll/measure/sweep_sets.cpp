// The sets of a launch: which subjects take part, which are left out, and where in memory they run.

#include <algorithm>

#include "phicoll/group/options.hpp"
#include "phicoll/measure/hand_loops.hpp"
#include "phicoll/measure/probes.hpp"
#include "phicoll/measure/sweep.hpp"
#include "phicoll/measure/verification.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace measure {

namespace {

// The front of the region belongs to the set's meeting barrier.
constexpr std::size_t first_place = 4096;
constexpr std::size_t places_span = std::size_t{8} << 20;
constexpr std::size_t places_count = 64;

}  // namespace

void Sweep::start_sets(int launch, int ranks, const Shape& placed, double verified_until_s) {
  sets_.clear();
  GroupOptions options;
  std::size_t largest = std::max(Probes::bytes(), std::size_t{4096} + HandCounterPerCpu::footprint(placed) +
                                                      HandFlatFlags::footprint(placed));
  std::map<std::string, std::vector<const Subject*>> members;
  std::map<std::string, Shape> shapes;
  for (const std::string& mode : settings_.modes) {
    shapes[mode] = tuned(placed, mode);
    const Shape& shape = shapes[mode];
    for (const Subject& subject : settings_.subjects) {
      const std::string spec = subject.text();
      const std::string why = why_not(subject, mode, shape);
      const std::string what =
          subject.work.before_algorithm() + spec + " with " + std::to_string(ranks) + " ranks as " + mode;
      if (!why.empty()) {
        say_once("skipped: " + what + ": " + why);
        continue;
      }
      const auto known = points_.find(PointKey(mode, ranks, subject.key()));
      if (known != points_.end() && known->second->excluded) continue;
      if (subject.reference && is_openmp_reference(subject.info.name)) {
        if (settings_.start == "evicted")
          say_once("skipped: " + subject.info.name + ": its flags are out of reach and can't be evicted");
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
      {
        const std::size_t footprint = subject_footprint(subject, shape);
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
  }

  // Random places within some MB of the region, the same for every set of the launch.
  const std::size_t room = std::min(places_span, options.memory_limit - first_place - largest);
  Random random(mix_seed(settings_.seed, 3));
  places_.clear();
  for (std::size_t i = 0; i < places_count; ++i)
    places_.push_back(first_place + static_cast<std::size_t>(random.below(room / 64 + 1)) * 64);

  // Every mode gets a set, even without subjects: the probes run in it.
  for (const std::string& mode : settings_.modes)
    add_set(mode, mode == "threads" ? programs_.threads : programs_.processes, ranks, shapes[mode],
            members[mode]);
  for (const auto& program : programs_.openmp)
    if (!members[program.first].empty())
      add_set(program.first, program.second, ranks, placed, members[program.first]);

  const double begun_s = elapsed_s();
  for (std::size_t s = 0; s < sets_.size(); ++s) {
    LiveSet& set = *sets_[s];
    const double until_s = begun_s + (verified_until_s - begun_s) * static_cast<double>(s + 1) /
                                         static_cast<double>(sets_.size());
    for (std::size_t i = 0; i < set.points.size(); ++i) {
      Point* const point = set.points[i];
      check_interrupt();
      if (i > 0 && !point->written && elapsed_s() > until_s) {
        leave_out_from(set, i);
        break;
      }
      try {
        verify(set, *point, launch);
      } catch (const SetFailure& failure) {
        // A subject that hangs, throws or crashes takes its set with it but not the run: it is marked, and
        // the launch starts again without it. A process killed from outside ends the run.
        if (failure.killed()) throw;
        exclude(set, *point, failure.what());
        start_sets(launch, ranks, placed, verified_until_s);
        return;
      }
    }
  }
}

// The budget is too short for the set's subjects from `first` on.
void Sweep::leave_out_from(LiveSet& set, std::size_t first) {
  std::string names;
  for (std::size_t i = first; i < set.points.size(); ++i) {
    set.points[i]->excluded = true;
    const Subject& subject = set.points[i]->subject;
    names += (i == first ? "" : ", ") + subject.work.before_algorithm() + subject.text();
  }
  left_out_ = true;
  say_once("note: the budget is too short for " + std::to_string(set.points.size() - first) +
           " subjects with " + std::to_string(set.points.front()->ranks) + " ranks as " + set.mode + ": " +
           names);
  set.points.resize(first);
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
    std::unique_ptr<Point>& point = points_[PointKey(set->mode, ranks, subject->key())];
    if (!point) {
      point.reset(new Point());
      point->number = static_cast<int>(points_.size()) - 1;
    }
    point->subject = *subject;
    point->mode = set->mode;
    point->ranks = ranks;
    set->points.push_back(point.get());
  }
  const auto most_calls = static_cast<std::size_t>(std::max(settings_.window_calls, 64));
  set->workers.reset(new WorkerSet(config, program, most_calls, clock_.clock));
  sets_.push_back(std::move(set));
}

void Sweep::verify(LiveSet& set, Point& point, int launch) {
  const bool before = point.verified;
  verify_point(set, point, places_[static_cast<std::size_t>(launch) % places_.size()],
               mix_seed(settings_.seed, 4, static_cast<std::uint64_t>(launch)));
  if (!point.verified) {
    unverified_ = true;
    say_once(std::string(point.subject.work.plain_barrier() ? "not a barrier: " : "wrong: ") + point.title() +
             ": " + point.error);
  }
  if (!point.written || before != point.verified) write_point(set, point);
}

void Sweep::exclude(const LiveSet& set, Point& point, const std::string& why) {
  point.excluded = true;
  point.verified = false;
  point.error = why;
  unverified_ = true;
  say_("left out: " + point.title() + ": " + why);
  write_point(set, point);
}

void Sweep::write_point(const LiveSet& set, Point& point) {
  writer_.write("point", run_, point_fields(point, set.shape, settings_));
  point.written = true;
}

}  // namespace measure
}  // namespace phicoll
