#pragma once

// A sweep on this machine: launches sets, measures rounds of probes and subjects in random order, writes
// records.

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "phicoll/measure/point.hpp"
#include "phicoll/measure/records.hpp"
#include "phicoll/measure/settings.hpp"
#include "phicoll/measure/worker_set.hpp"

namespace phicoll {
namespace measure {

/// How the sets' processes are started. An OpenMP reference without an entry is skipped with a message.
struct Programs {
  WorkerSet::Program threads;
  WorkerSet::Program processes;
  std::map<std::string, WorkerSet::Program> openmp;  ///< by the reference's name
  bool std_barrier = false;                          ///< whether `threads` was built with it (C++20)
};

struct SweepResult {
  std::string reason;  ///< complete, budget, interrupted, failed
  std::string error;
  bool unverified = false;  ///< some subject broke its operation's promise
};

class Sweep {
 public:
  /// `say` gets lines for a person: what is skipped, and progress if asked for. When `interrupted` turns true
  /// (Ctrl-C), the current step is finished and the sweep ends.
  Sweep(const Settings& settings, Programs programs, const ClockFacts& clock, RecordWriter& writer,
        std::string run, std::function<void(const std::string&)> say, const std::atomic<bool>& interrupted);
  ~Sweep();

  /// Restores what `records` say about the run to continue.
  void resume(const std::vector<JsonValue>& records);
  /// Measures, and writes every record after the context up to `end`.
  SweepResult run();

 private:
  struct Task;

  using PointKey = std::tuple<std::string, int, std::string>;  // mode, ranks, subject's key

  void run_all();
  void run_unit(int launch, int ranks, int rounds, double until_s, double verified_until_s);
  void start_sets(int launch, int ranks, const Shape& placed, double verified_until_s);
  void add_set(const std::string& mode, const WorkerSet::Program& program, int ranks, const Shape& shape,
               const std::vector<const Subject*>& subjects);
  void verify(LiveSet& set, Point& point, int launch);
  void exclude(const LiveSet& set, Point& point, const std::string& why);
  void leave_out_from(LiveSet& set, std::size_t first);
  void write_point(const LiveSet& set, Point& point);
  void probe(LiveSet& set, int launch, int round, std::size_t place_number, std::uint64_t seed);
  void sample(const Task& task, int launch, int round, int order, std::size_t place, std::uint64_t seed);
  bool width_reached() const;
  int rounds_left(int ranks) const;
  void say_estimate(int ranks) const;
  double elapsed_s() const;
  void check_interrupt() const;
  void say_once(const std::string& text);

  Settings settings_;
  Programs programs_;
  ClockFacts clock_;
  RecordWriter& writer_;
  std::string run_;
  std::function<void(const std::string&)> say_;
  const std::atomic<bool>& interrupted_;

  std::int64_t start_ns_;
  double earlier_s_ = 0;  // time of a resumed run's earlier parts
  int first_launch_ = 0;
  std::map<int, int> rounds_done_;  // by ranks
  struct Cost {
    double start_s = 0;
    double round_s = 0;
  };
  std::map<int, Cost> costs_;  // of the first launch, by ranks
  std::map<PointKey, std::unique_ptr<Point>> points_;
  std::vector<std::unique_ptr<LiveSet>> sets_;
  std::vector<std::size_t> places_;  // of the current unit
  std::vector<std::string> said_;
  long samples_ = 0;
  int rounds_total_ = 0;
  int rounds_now_ = 0;
  double last_progress_s_ = -1;
  bool unverified_ = false;
  bool left_out_ = false;  // the budget was over before some subjects were verified
};

}  // namespace measure
}  // namespace phicoll
