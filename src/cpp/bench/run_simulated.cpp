#include "bench/run_simulated.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "bench/build_info.hpp"
#include "bench/watchers.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/records.hpp"
#include "phicoll/measure/resume.hpp"
#include "phicoll/measure/settings.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"
#if defined(PHICOLL_HAVE_SIM)
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/sim/running/sim_records.hpp"
#include "phicoll/sim/running/sim_sweep.hpp"
#endif

namespace phicoll {
namespace bench {

const std::vector<std::string>& simulated_options() {
  static const std::vector<std::string> names = {"--episodes", "--warm-up", "--skew-ns", "--jobs"};
  return names;
}

void refuse_options(const Arguments& arguments, const std::vector<std::string>& names,
                    const std::string& allowed) {
  for (const std::string& name : names)
    if (arguments.has(name))
      throw ArgumentError(name.substr(2), "'" + arguments.text(name, "") + "'", allowed);
}

#if defined(PHICOLL_HAVE_SIM)

namespace {

sim::SimulatedSettings parse_settings(const Arguments& arguments) {
  refuse_options(arguments,
                 {"--mode", "--launches", "--calls", "--window-calls", "--budget", "--target-width",
                  "--oversubscribe", "--delay-ns", "--imbalance-ns", "--libiomp5", "--lock-wait"},
                 "only without --machine");
  sim::SimulatedSettings settings;
  settings.machine = sim::load_machine(arguments.text("--machine", ""));
  settings.tuning = sim::tuning_of(settings.machine);
  bool left_out = false;
  const Operation operation =
      measure::parse_operation(arguments.alone().empty() ? "barrier" : arguments.alone().front());
  settings.algorithms = sim::simulated_algorithms(operation, arguments.text("--algorithm", "all"), &left_out);
  if (left_out) say("references are left out: those of other systems have no simulated form", false);
  if (!moves_data(operation))
    refuse_options(arguments, {"--size", "--buffers", "--type", "--op"}, "only where data moves");
  settings.works = sim::simulated_works(operation, measure::parse_sizes(arguments.text("--size", "8,4K,1M")),
                                        arguments.choices("--buffers", "fresh", {"fresh", "reused"}),
                                        arguments.text("--type", "float32"), arguments.text("--op", "sum"));
  settings.ranks = measure::parse_ranks(arguments.text("--ranks", "2"));
  settings.placement = arguments.text("--placement", settings.placement);
  settings.definitions = arguments.choices("--definition", "loop", {"loop", "window"});
  settings.start = arguments.choices("--start", "warm", {"warm", "evicted"}).at(0);
  settings.episodes =
      static_cast<int>(arguments.integer("--episodes", settings.episodes, 1, sim::most_episodes));
  settings.warm_up =
      static_cast<int>(arguments.integer("--warm-up", settings.warm_up, 0, sim::most_episodes));
  settings.rounds = static_cast<int>(arguments.integer("--rounds", settings.rounds, 1, sim::most_rounds));
  settings.skew_ns = arguments.number("--skew-ns", settings.skew_ns, 0);
  if (settings.skew_ns > sim::most_skew_ns)
    throw ArgumentError("skew-ns", "'" + arguments.text("--skew-ns", "") + "'", "at most 1e9, a second");
  settings.wait = to_string(parse_wait_policy(arguments.text("--wait", settings.wait)));
  settings.seed = static_cast<std::uint64_t>(arguments.integer("--seed", 1, 0, std::int64_t{1} << 53));
  return settings;
}

// Simulates points in threads and hands their records over in the points' order.
class Jobs {
 public:
  Jobs(const sim::SimulatedSettings& settings, const std::vector<sim::SimulatedPoint>& points,
       const std::string& run, std::size_t jobs, const std::atomic<bool>& stop)
      : settings_(settings), points_(points), run_(run), stop_(stop) {
    for (std::size_t i = 0; i < std::min(jobs, points.size()); ++i) threads_.emplace_back([this] { work(); });
  }
  ~Jobs() {
    quit_.store(true, std::memory_order_relaxed);
    for (std::thread& thread : threads_) thread.join();
  }

  /// The records of point number `index`; false if it was not simulated because of `stop`. Rethrows what
  /// simulating threw.
  bool take(std::size_t index, sim::PointRecords* found) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto there = [&] { return done_.count(index) != 0; };
    // A point that nobody will begin any more does not come; the wait is bounded because a signal may arrive
    // in any thread.
    while (!there() && (index < next_ || !stop_.load(std::memory_order_relaxed)))
      arrived_.wait_for(lock, std::chrono::milliseconds(50));
    if (!there()) return false;
    Done done = std::move(done_[index]);
    done_.erase(index);
    if (done.error) std::rethrow_exception(done.error);
    *found = std::move(done.records);
    return true;
  }

 private:
  struct Done {
    sim::PointRecords records;
    std::exception_ptr error;
  };

  void work() {
    for (;;) {
      std::size_t index = 0;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (next_ == points_.size() || quit_.load(std::memory_order_relaxed) ||
            stop_.load(std::memory_order_relaxed))
          return;
        index = next_++;
      }
      Done done;
      try {
        done.records = sim::simulate_point(settings_, points_[index], run_, &stop_);
      } catch (...) {
        done.error = std::current_exception();
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      done_[index] = std::move(done);
      arrived_.notify_all();
    }
  }

  const sim::SimulatedSettings& settings_;
  const std::vector<sim::SimulatedPoint>& points_;
  const std::string& run_;
  const std::atomic<bool>& stop_;
  std::atomic<bool> quit_{false};
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::size_t next_ = 0;
  std::map<std::size_t, Done> done_;
  std::vector<std::thread> threads_;
};

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

}  // namespace

int run_simulated(const Arguments& arguments, const std::vector<std::string>& whole_line) {
  sim::SimulatedSettings settings = parse_settings(arguments);
  const auto jobs = static_cast<std::size_t>(arguments.integer("--jobs", os::allowed_cpu_count(), 1, 1024));
  const std::string output = arguments.text("-o", "-");
  const bool resume = arguments.has("--resume");
  const bool acknowledged = arguments.has("--progress-ack");
  const bool progress = acknowledged || arguments.has("--progress");
  if (resume && output == "-") throw ArgumentError("resume", "standard output", "a file given with -o");

  std::string run = measure::new_run_id();
  sim::EarlierPoints earlier;
  std::vector<sim::SimulatedPoint> points = sim::plan_points(settings);
  bool continuing = false;
  if (resume && access(output.c_str(), F_OK) == 0) {
    const measure::RecordLines file = measure::read_records(output, "resume");
    if (file.damaged > 0) say(output + ": " + file.loss(), false);
    run = measure::run_to_resume(file, settings.json(), &settings.seed, arguments.has("--seed"));
    earlier = sim::drop_done(&points, file.records, run);
    continuing = true;
  }
  measure::RecordWriter writer(output);
  const std::atomic<bool>& interrupted = catch_interrupts(true);
  const std::int64_t start_ns = os::now_ns();
  const auto elapsed_s = [&] { return static_cast<double>(os::now_ns() - start_ns) * 1e-9; };
  if (!continuing) writer.write("context", run, sim::simulated_context(settings, whole_line, build_info()));

  std::string reason = "complete";
  std::string error;
  int written = earlier.points;
  std::int64_t samples = earlier.samples;
  bool unverified = earlier.unverified;
  double last_progress_s = -1;
  try {
    Jobs running(settings, points, run, jobs, interrupted);
    for (std::size_t i = 0; i < points.size(); ++i) {
      sim::PointRecords found;
      if (!running.take(i, &found)) break;
      for (const std::string& line : found.lines) writer.write_line(line);
      written += found.lines.empty() ? 0 : 1;
      samples += found.samples;
      const std::string title = points[i].title();
      if (!found.verified) {
        unverified = true;
        say(title + " failed: " + first_line(found.error), false);
      }
      if (progress && (elapsed_s() - last_progress_s > 0.2 || i + 1 == points.size())) {
        last_progress_s = elapsed_s();
        char text[400];
        std::snprintf(text, sizeof text, "progress: %zu %zu %s, %.1f s", i + 1, points.size(), title.c_str(),
                      elapsed_s());
        say(text, acknowledged);
      }
    }
    if (interrupted.load(std::memory_order_relaxed)) reason = "interrupted";
  } catch (const ResourceError&) {
    throw;  // a full disk: there is nowhere to write the end to
  } catch (const std::exception& failure) {
    reason = "failed";
    error = failure.what();
    say("failed: " + first_line(error), false);
  }
  JsonObject end;
  end.add("reason", reason);
  if (!error.empty()) end.add("error", error);
  end.add("elapsed_s", elapsed_s() + earlier.elapsed_s)
      .add("points", written)
      .add("samples", samples)
      .null("width_reached");
  writer.write("end", run, end);
  if (reason == "interrupted") return 130;
  return reason == "failed" || unverified ? 3 : 0;
}

#else

int run_simulated(const Arguments&, const std::vector<std::string>&) {
  throw ResourceError("machine: this phicoll-bench was built without the simulated machine");
}

#endif

}  // namespace bench
}  // namespace phicoll
