#include "phicoll/sim/running/simulated_run.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "phicoll/errors.hpp"
#include "phicoll/measure/resume.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/sim/running/point_budget.hpp"

namespace phicoll {
namespace sim {

// Simulates the points in threads of this process.
class SimulatedRun::Threads final : public PointWorkers {
 public:
  Threads(const SimulatedRun& run, std::size_t jobs) : run_(run) {
    try {
      for (std::size_t i = 0; i < std::min(jobs, run.points_.size()); ++i)
        threads_.emplace_back([this] { work(); });
    } catch (const std::system_error& error) {
      if (threads_.empty())
        throw ResourceError(std::string("no thread could be started to simulate: ") + error.what());
      // Fewer threads do all the work as well.
    }
  }
  ~Threads() override {
    stop();
    for (std::thread& thread : threads_) thread.join();
  }

  // Also ends the points that run within some ms, with the steps that are done.
  void stop() override { stop_.store(true, std::memory_order_relaxed); }

  std::int64_t finished() const override { return finished_.load(std::memory_order_relaxed); }

  PointRecords take(std::size_t index, const std::function<bool()>& waiting) override {
    std::unique_lock<std::mutex> lock(mutex_);
    const auto there = [&] { return done_.count(index) != 0; };
    // After stop() no thread begins a new point. `waiting` may call it.
    while (!there() && (index < next_ || !stop_.load(std::memory_order_relaxed)))
      if (arrived_.wait_for(lock, std::chrono::milliseconds(50)) == std::cv_status::timeout) {
        lock.unlock();
        waiting();
        lock.lock();
      }
    if (!there()) return {};
    const Done done = std::move(done_[index]);
    done_.erase(index);
    if (done.error) std::rethrow_exception(done.error);
    return done.records;
  }

 private:
  struct Done {
    PointRecords records;
    std::exception_ptr error;
  };

  void work() {
    for (;;) {
      std::size_t index = 0;
      {
        const std::lock_guard<std::mutex> lock(mutex_);
        if (next_ == run_.points_.size() || stop_.load(std::memory_order_relaxed)) return;
        index = next_++;
      }
      Done done;
      try {
        done.records = simulate_point(run_.settings_, run_.points_[index], run_.id_, &stop_, &finished_);
      } catch (...) {
        done.error = std::current_exception();
      }
      const std::lock_guard<std::mutex> lock(mutex_);
      done_[index] = std::move(done);
      arrived_.notify_all();
    }
  }

  const SimulatedRun& run_;
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> finished_{0};
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::size_t next_ = 0;
  std::map<std::size_t, Done> done_;
  std::vector<std::thread> threads_;
};

SimulatedRun::SimulatedRun(const measure::SweepValues& values)
    : settings_(parse_simulated_settings(values, &left_out_)),
      seed_given_(values.has("seed")),
      points_(plan_points(settings_)),
      id_(measure::new_run_id()) {}

std::string SimulatedRun::resume(const std::string& path) {
  const measure::RecordLines file = measure::read_records(path, "resume");
  id_ = measure::run_to_resume(file, settings_.json(), &settings_.seed, seed_given_);
  earlier_ = drop_done(&points_, file.records, id_);
  resumed_ = true;
  return file.loss();
}

// A run from its first record to its last.
class SimulatedRun::Course {
 public:
  Course(const SimulatedRun& run, RunWatcher& watcher)
      : run_(run), watcher_(watcher), written_(run.earlier_.points), samples_(run.earlier_.samples) {
    end_.unverified = run.earlier_.unverified;
    for (const SimulatedPoint& point : run.points_) total_ += point.rank_calls(run.settings_);
  }

  void begin(const std::vector<std::string>& command, const measure::BuildInfo& build) {
    if (!run_.resumed_)
      write(measure::record_line("context", run_.id_, simulated_context(run_.settings_, command, build)));
  }

  // Throws only if a record cannot be written. What else ends the run early is in the result.
  void go(PointWorkers& workers) {
    std::size_t next = 0;
    try {
      PointBudget budget(run_.settings_, run_.points_);
      std::vector<std::size_t> left;
      for (; next < run_.points_.size(); ++next) {
        const SimulatedPoint& point = run_.points_[next];
        const auto waiting = [&] {
          if (look(budget)) workers.stop();
          show(workers, point, false);
          return !watcher_.interrupted();
        };
        if (look(budget)) workers.stop();
        const PointRecords found = workers.take(next, waiting);
        calls_ += point.rank_calls(run_.settings_);
        if (found.verified && found.samples < static_cast<std::int64_t>(point.steps.size()))
          left.push_back(next);
        budget.done(next);
        keep(point, found);
        show(workers, point, next + 1 == run_.points_.size());
      }
      if (watcher_.interrupted()) {
        end_.reason = "interrupted";
      } else if (!left.empty()) {
        end_.reason = "budget";
        watcher_.note(budget.left_out(left));
      }
    } catch (...) {
      if (writing_) throw;
      fail(std::current_exception());
      workers.stop();
      keep_finished(workers, next + 1);
    }
  }

  // `failure` ends the run.
  void fail(std::exception_ptr failure) {
    end_.reason = "failed";
    end_.failure = std::move(failure);
  }

  RunEnd finish() {
    JsonObject end;
    end.add("reason", end_.reason);
    if (end_.failure) end.add("error", words_of(end_.failure));
    end.add("elapsed_s", elapsed_s() + run_.earlier_.elapsed_s)
        .add("points", written_)
        .add("samples", samples_)
        .null("width_reached");
    write(measure::record_line("end", run_.id_, end));
    return end_;
  }

 private:
  void write(const std::string& line) {
    writing_ = true;
    watcher_.write(line);
    writing_ = false;
  }

  double elapsed_s() const { return static_cast<double>(os::now_ns() - start_ns_) * 1e-9; }

  // Whether no further point may begin. Gives the budget's note once it is due.
  bool look(PointBudget& budget) {
    const std::string note = budget.estimate(elapsed_s());
    if (!note.empty()) watcher_.note(note);
    return watcher_.interrupted() || budget.over(elapsed_s());
  }

  void show(const PointWorkers& workers, const SimulatedPoint& point, bool last) {
    if (elapsed_s() - shown_s_ <= 0.2 && !last) return;
    shown_s_ = elapsed_s();
    shown_ = last ? total_ : std::max(shown_, std::min(std::max(calls_, workers.finished()), total_));
    watcher_.progress(shown_, total_, point.title());
  }

  void keep(const SimulatedPoint& point, const PointRecords& found) {
    for (const std::string& line : found.lines) write(line);
    written_ += found.lines.empty() ? 0 : 1;
    samples_ += found.samples;
    if (found.verified) return;
    end_.unverified = true;
    watcher_.failed(point.title(), found.error);
  }

  // The failure is told; what else happens to the points from `first` on is not.
  void keep_finished(PointWorkers& workers, std::size_t first) {
    for (std::size_t i = first; i < run_.points_.size(); ++i) {
      try {
        keep(run_.points_[i], workers.take(i, [] { return false; }));
      } catch (...) {
        continue;
      }
    }
  }

  static std::string words_of(const std::exception_ptr& failure) {
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      return error.what();
    } catch (...) {
      return "unknown";
    }
  }

  const SimulatedRun& run_;
  RunWatcher& watcher_;
  const std::int64_t start_ns_ = os::now_ns();
  RunEnd end_{"complete", nullptr, false};
  bool writing_ = false;  // still true once a record could not be written
  int written_;
  std::int64_t samples_;
  std::int64_t total_ = 0;  // calls of all points' ranks
  std::int64_t calls_ = 0;  // those of the points that were taken
  std::int64_t shown_ = 0;  // the most that was shown
  double shown_s_ = -1;
};

RunEnd SimulatedRun::simulate(PointWorkers& workers, RunWatcher& watcher,
                              const std::vector<std::string>& command,
                              const measure::BuildInfo& build) const {
  Course course(*this, watcher);
  course.begin(command, build);
  course.go(workers);
  return course.finish();
}

RunEnd SimulatedRun::simulate(std::size_t jobs, RunWatcher& watcher, const std::vector<std::string>& command,
                              const measure::BuildInfo& build) const {
  Course course(*this, watcher);
  course.begin(command, build);
  std::unique_ptr<Threads> threads;
  try {
    threads = std::make_unique<Threads>(*this, jobs);
  } catch (const ResourceError&) {
    course.fail(std::current_exception());
  }
  if (threads) course.go(*threads);
  return course.finish();
}

}  // namespace sim
}  // namespace phicoll
