#pragma once

// One rank of a set of threads or processes. Does what the step board says until it says stop.

#include <string>
#include <vector>

#include "phicoll/group/communicator.hpp"
#include "phicoll/measure/set_config.hpp"
#include "phicoll/measure/timing.hpp"

namespace phicoll {
namespace measure {

/// A reference that the library itself cannot contain (std::barrier needs C++20). All ranks call `run` with
/// the same zeroed 4096 bytes at `memory`; `meet` is the group's communicator, for barriers around set-up and
/// teardown.
struct ExtraReference {
  std::string name;
  void (*run)(const Seat& seat, const Step& step, unsigned char* memory, Communicator& meet,
              RankReport& report);
};

/// Runs steps until `stop`. Rethrows what a step threw, after writing it to the rank's report.
void serve_rank(Communicator& communicator, StepBoard& board, const std::vector<ExtraReference>& extras);

/// Runs a whole set of threads in this process.
void serve_threads(StepBoard& board, const std::vector<ExtraReference>& extras);

/// Runs one rank of a set of processes. `group` is the inherited descriptor of the group's memory.
void serve_process(StepBoard& board, int group, int rank);

}  // namespace measure
}  // namespace phicoll
