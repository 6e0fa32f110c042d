#pragma once

// One rank of a set of threads or processes: does what the step board says until it says stop.

#include <string>
#include <vector>

#include "phicoll/group/communicator.hpp"
#include "phicoll/measure/set_config.hpp"
#include "phicoll/measure/timing.hpp"

namespace phicoll {
namespace measure {

/// A reference that the library itself cannot hold (std::barrier is C++20): all ranks call `run`, each with
/// the same zeroed 4096 bytes at `memory`; `meet` is a barrier of the group for setting up and taking down.
struct ExtraReference {
  std::string name;
  void (*run)(const Seat& seat, const Step& step, unsigned char* memory, Communicator& meet,
              RankReport& report);
};

/// Returns after the step `stop`. Throws what a barrier threw, once it stands in the rank's report.
void serve_rank(Communicator& communicator, StepBoard& board, const std::vector<ExtraReference>& extras);

/// A whole set of threads in this process.
void serve_threads(StepBoard& board, const std::vector<ExtraReference>& extras);

/// One rank of a set of processes; `group` is the inherited descriptor of the group's memory.
void serve_process(StepBoard& board, int group, int rank);

}  // namespace measure
}  // namespace phicoll
