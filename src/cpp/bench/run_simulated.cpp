#include "bench/run_simulated.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <system_error>
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
#include "phicoll/sim/running/point_budget.hpp"
#include "phicoll/sim/running/sim_algorithms.hpp"
#include "phicoll/sim/running/sim_records.hpp"
#include "phicoll/sim/running/sim_sweep.hpp"
#endif

namespace phicoll {
namespace bench {

#if defined(PHICOLL_HAVE_SIM)

namespace {

// Simulates points in threads and hands over their records in the order of the points.
class Jobs {
 public:
  Jobs(const sim::SimulatedSettings& settings, const std::vector<sim::SimulatedPoint>& points,
       const std::string& run, std::size_t jobs)
      : settings_(settings), points_(points), run_(run) {
    try {
      for (std::size_t i = 0; i < std::min(jobs, points.size()); ++i)
        threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      if (threads_.empty())
        throw ResourceError(std::string("no thread could be started to simulate: ") + error.what());
      // Fewer threads do all the work as well.
    }
  }
  ~Jobs() {
    stop();
    for (std::thread& thread : threads_) thread.join();
  }

  /// Begin no further point, and end those that run within some ms.
  void stop() { stop_.store(true, std::memory_order_relaxed); }

  /// Calls that ranks have finished, in all points.
  std::int64_t finished() const { return finished_.load(std::memory_order_relaxed); }

  /// Waits for the records of point `index`, with `waiting` called now and then. Returns false if it was not
  /// simulated because of `stop`. Rethrows what the simulation threw.
  bool take(std::size_t index, sim::PointRecords* found, const std::function<void()>& waiting) {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto there = [&] { return done_.count(index) != 0; };
    // After stop() no thread begins a new point. `waiting` may call it.
    while (!there() && (index < next_ || !stop_.load(std::memory_order_relaxed)))
      if (arrived_.wait_for(lock, std::chrono::milliseconds(50)) == std::cv_status::timeout) {
        lock.unlock();
        waiting();
        lock.lock();
      }
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
        if (next_ == points_.size() || stop_.load(std::memory_order_relaxed)) return;
        index = next_++;
      }
      Done done;
      try {
        done.records = sim::simulate_point(settings_, points_[index], run_, &stop_, &finished_);
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
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> finished_{0};
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

int run_simulated(const measure::SweepValues& values, const std::vector<std::string>& whole_line) {
  bool left_out = false;
  sim::SimulatedSettings settings = sim::parse_simulated_settings(values, &left_out);
  if (left_out) say("references are left out: those of other systems have no simulated form", false);
  const auto jobs =
      static_cast<std::size_t>(values.has("jobs") ? values.integer("jobs") : os::allowed_cpu_count());
  const std::string output = values.has("output") ? values.text("output") : "-";
  const bool resume = values.has("resume");
  const bool acknowledged = values.has("progress-ack");
  const bool progress = acknowledged || values.has("progress");
  if (resume && output == "-") throw ArgumentError("resume", "standard output", "a file given with -o");

  std::string run = measure::new_run_id();
  sim::EarlierPoints earlier;
  std::vector<sim::SimulatedPoint> points = sim::plan_points(settings);
  measure::RecordWriter writer(output, resume);  // before what other runs wrote is read
  const bool continuing = resume && writer.begun();
  if (continuing) {
    const measure::RecordLines file = measure::read_records(output, "resume");
    const std::string loss = file.loss();
    if (!loss.empty()) say(output + ": " + loss, false);
    run = measure::run_to_resume(file, settings.json(), &settings.seed, values.has("seed"));
    earlier = sim::drop_done(&points, file.records, run);
  }
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
  std::int64_t total = 0;
  for (const sim::SimulatedPoint& point : points) total += point.rank_calls(settings);
  try {
    sim::PointBudget budget(settings, points);
    Jobs running(settings, points, run, jobs);
    std::vector<std::size_t> left;
    const auto look = [&] {
      if (interrupted.load(std::memory_order_relaxed) || budget.over(elapsed_s())) running.stop();
      const std::string note = budget.estimate(elapsed_s());
      if (!note.empty()) say(note, false);
    };
    for (std::size_t i = 0; i < points.size(); ++i) {
      sim::PointRecords found;
      const std::string title = points[i].title();
      const auto show = [&](bool last) {
        if (!progress || (elapsed_s() - last_progress_s <= 0.2 && !last)) return;
        last_progress_s = elapsed_s();
        say("progress: " + std::to_string(last ? total : running.finished()) + " " + std::to_string(total) +
                " " + title + ", " + json_number(elapsed_s(), 1) + " s",
            acknowledged);
      };
      const auto waiting = [&] {
        look();
        show(false);
      };
      look();
      running.take(i, &found, waiting);
      budget.done(i);
      if (found.verified && found.samples < static_cast<std::int64_t>(points[i].steps.size()))
        left.push_back(i);
      for (const std::string& line : found.lines) writer.write_line(line);
      written += found.lines.empty() ? 0 : 1;
      samples += found.samples;
      if (!found.verified) {
        unverified = true;
        say(title + " failed: " + first_line(found.error), false);
      }
      show(i + 1 == points.size());
    }
    if (interrupted.load(std::memory_order_relaxed)) {
      reason = "interrupted";
    } else if (!left.empty()) {
      reason = "budget";
      say(budget.left_out(left), false);
    }
  } catch (const ResourceError&) {
    throw;  // a full disk: the end cannot be written either
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

int run_simulated(const measure::SweepValues&, const std::vector<std::string>&) {
  throw ResourceError("machine: this phicoll-bench was built without the simulated machine");
}

#endif

}  // namespace bench
}  // namespace phicoll
