// The papers' programs by threads: their checks pass with 1 to 17 ranks, and with every barrier where they
// have barriers. A sample, in seconds; all of it with PHICOLL_TEST_LONG=1, under the sanitizers too.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/group/communicator.hpp"
#include "phicoll/group/options.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/measure/program_step.hpp"
#include "phicoll/measure/step_board.hpp"
#include "phicoll/measure/work.hpp"

namespace phicoll {
namespace measure {
namespace {

bool long_run() {
  const char* const text = std::getenv("PHICOLL_TEST_LONG");
  return text != nullptr && std::string(text) == "1";
}

/// A whole run of a program, checked on every rank.
void expect_right(const std::string& name, int ranks, const std::string& barrier = "auto") {
  SCOPED_TRACE(name + ", " + std::to_string(ranks) + " ranks, " + barrier);
  Step step = Step();
  step.kind = StepKind::verify;
  step.calls = 1;
  step.work = parse_measured(name);
  if (step.work.program.why_not(ranks) != nullptr) return;
  StepBoard board = StepBoard::create(ranks, 16, StampClock{0, 1.0}, "");
  constexpr std::size_t page = 4096;
  std::vector<unsigned char> memory(step.work.program.shared_bytes(ranks) + page);
  unsigned char* const shared =
      memory.data() + (page - reinterpret_cast<std::uintptr_t>(memory.data()) % page) % page;
  GroupOptions options;
  options.timeout_ms = 240000;  // a wait for ever is an error of the test, not its end
  ThreadGroup group(ranks, options);
  group.run([&](Communicator& communicator) {
    communicator.select(Operation::barrier, barrier);
    const Seat seat = {board, communicator.rank(), ranks, true, nullptr, shared};
    run_program_step(seat, step, communicator, board.report(seat.rank));
  });
  for (int r = 0; r < ranks; ++r) EXPECT_EQ(board.report(r).violated, 0) << board.report(r).error;
}

const char* const barriers_of[] = {"nbody.S", "cg.S", "mg.S"};

TEST(PaperPrograms, AreRightAtEveryNumberOfRanks) {
  std::vector<std::string> names = {"nbody.S", "transport.S", "balancing.S", "is.S"};
  std::vector<int> all = {1, 3, 17};
  if (long_run()) {
    for (const char* const more :
         {"cg.S", "mg.S", "sp.S", "sgd.S", "jacobi.S", "is-shmem.S", "stream-shmem.S"})
      names.push_back(more);
    for (all.clear(); all.size() < 17;) all.push_back(static_cast<int>(all.size()) + 1);
  }
  for (const std::string& name : names)
    for (const int ranks : all) expect_right(name, ranks);
}

TEST(PaperPrograms, AreRightWithEveryBarrier) {
  for (const char* const name : barriers_of) {
    if (!long_run() && name != barriers_of[0]) continue;
    for (const AlgorithmInfo& barrier : family(Operation::barrier).algorithms())
      expect_right(name, long_run() ? 4 : 2, barrier.name);
  }
}

}  // namespace
}  // namespace measure
}  // namespace phicoll
