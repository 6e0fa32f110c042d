#pragma once

// The driver of simulated runs: plans the points, has them simulated side by side, and gives out the records
// in the points' order. phicoll-bench and Python call it.

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "phicoll/measure/records.hpp"
#include "phicoll/measure/sweep_options.hpp"
#include "phicoll/sim/running/sim_records.hpp"
#include "phicoll/sim/running/sim_sweep.hpp"

namespace phicoll {
namespace sim {

/// What simulates a run's points side by side.
class PointWorkers {
 public:
  virtual ~PointWorkers() = default;
  /// Waits for the records of point `index`, and calls `waiting` now and then. If that returns false, a point
  /// that does not end soon is given up. The records are empty if the point was not simulated. Rethrows what
  /// the simulation threw.
  virtual PointRecords take(std::size_t index, const std::function<bool()>& waiting) = 0;
  /// Begins no further point.
  virtual void stop() = 0;
  /// Calls that ranks have finished so far in all points; 0 if that is unknown.
  virtual std::int64_t finished() const = 0;
};

/// What a run tells the program that it is a part of. What a function throws ends the run.
class RunWatcher {
 public:
  virtual ~RunWatcher() = default;
  virtual void write(const std::string& line) = 0;  ///< a record
  virtual void note(const std::string& text) = 0;
  virtual void failed(const std::string& title,
                      const std::string& error) = 0;  ///< a point that is not verified
  virtual void progress(std::int64_t done, std::int64_t total, const std::string& title) = 0;
  virtual bool interrupted() = 0;
};

/// How a run ended.
struct RunEnd {
  std::string reason;  ///< complete, budget, interrupted or failed
  std::exception_ptr failure;
  bool unverified = false;
};

class SimulatedRun {
 public:
  /// Plans a new run. Throws ArgumentError.
  explicit SimulatedRun(const measure::SweepValues& values);

  /// Continues the run that `path` ends with: the points and steps there are done. Returns a note on damaged
  /// lines, or "". Throws as measure::run_to_resume.
  std::string resume(const std::string& path);

  const SimulatedSettings& settings() const { return settings_; }
  const std::vector<SimulatedPoint>& points() const { return points_; }
  const std::string& id() const { return id_; }
  bool resumed() const { return resumed_; }
  /// Whether references were asked for, which have no simulated form.
  bool left_out() const { return left_out_; }

  /// Simulates the points that the budget allows. A point that fails is marked, and the others go on. After
  /// an interrupt or an exception, points that are finished are kept. The context comes first and the end
  /// last.
  RunEnd simulate(PointWorkers& workers, RunWatcher& watcher, const std::vector<std::string>& command,
                  const measure::BuildInfo& build) const;
  /// The same by `jobs` threads. That none could be started ends the run as a failure, with a ResourceError.
  RunEnd simulate(std::size_t jobs, RunWatcher& watcher, const std::vector<std::string>& command,
                  const measure::BuildInfo& build) const;

 private:
  class Threads;
  class Course;

  bool left_out_ = false;  // parsing the settings may set it
  SimulatedSettings settings_;
  bool seed_given_;
  bool resumed_ = false;
  std::vector<SimulatedPoint> points_;
  std::string id_;
  EarlierPoints earlier_;
};

}  // namespace sim
}  // namespace phicoll
