#pragma once

// The coordinator's side of one set of ranks: starts its processes, hands them steps, notices their deaths
// and ends them.

#include <sys/types.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/measure/set_config.hpp"
#include "phicoll/measure/step_board.hpp"

namespace phicoll {
namespace measure {

/// Thrown when a set cannot go on. what() is the cause as a sentence.
class SetFailure : public std::runtime_error {
 public:
  explicit SetFailure(const std::string& what, bool killed = false)
      : std::runtime_error(what), killed_(killed) {}
  /// Whether a process was ended by SIGKILL: from outside, or by the kernel when memory ran out.
  bool killed() const { return killed_; }

 private:
  bool killed_;
};

class WorkerSet {
 public:
  /// How a worker's process is started: the program, its arguments and environment changes. The set appends
  /// arguments of its own: the board's descriptor and, in a process set, the group's descriptor and the rank.
  struct Program {
    std::string path;
    std::vector<std::string> arguments;
    std::vector<std::pair<std::string, std::string>> environment;
  };

  /// Starts one process (threads, openmp) or `config.ranks` (processes). Throws ResourceError, SetFailure.
  WorkerSet(const SetConfig& config, const Program& program, std::size_t most_calls, const StampClock& clock);
  /// Ends the processes: by a last step if the set is intact, otherwise by SIGKILL.
  ~WorkerSet();
  WorkerSet(const WorkerSet&) = delete;
  WorkerSet& operator=(const WorkerSet&) = delete;

  /// Runs one step on all ranks and returns when it is done. Throws SetFailure if a process dies, a rank
  /// fails, or the step does not end within `timeout_s`; a step that runs a program has ten minutes.
  void run(const Step& step, double timeout_s);
  RankReport& report(int rank) { return board_->report(rank); }
  StepBoard& board() { return *board_; }
  const SetConfig& config() const { return config_; }

 private:
  void start(const Program& program, const std::vector<std::string>& more, const std::vector<int>& inherit);
  /// The cause if a process has ended, otherwise "".
  std::string ended();
  void stop();

  SetConfig config_;
  std::unique_ptr<StepBoard> board_;
  os::SharedMemory group_;
  std::vector<pid_t> pids_;
  bool intact_ = false;
  bool killed_ = false;
};

}  // namespace measure
}  // namespace phicoll
