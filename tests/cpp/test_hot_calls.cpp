// The instructions of a call of 8 bytes between two ranks, and of a simulated notification, counted one by
// one: an inlining that is lost, or a check that is made twice, shows here. test_hot_path.py reads the
// barrier's code.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>

#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/os/clock.hpp"
#include "sim_testing.hpp"

namespace phicoll {
namespace {

#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_THREAD__) && \
    !defined(__SANITIZE_ADDRESS__)
constexpr bool countable = true;

thread_local volatile long steps = 0;
void count_step(int) {
  steps = steps + 1;
}

/// While the trap flag is set, the processor stops this thread after each instruction. Below the stack's red
/// zone.
void set_trap() {
  asm volatile("lea -128(%%rsp), %%rsp\n pushfq\n orl $0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
                   : "memory", "cc");
}
void clear_trap() {
  asm volatile("lea -128(%%rsp), %%rsp\n pushfq\n andl $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
                   : "memory", "cc");
}
#else
constexpr bool countable = false;
thread_local long steps = 0;
void count_step(int) {}
void set_trap() {}
void clear_trap() {}
#endif

template <class Call>
long steps_of(const Call& call) {
  const long before = steps;
  set_trap();
  call();
  clear_trap();
  return steps - before;
}

struct Counted {
  const char* name;
  int rank;           ///< whose instructions are counted
  long instructions;  ///< by GCC 12 at -O2, in November 2026
  std::function<void(Communicator&, std::int64_t* send, std::int64_t* receive)> call;
};

const Operator& sum() {
  static const Operator op = find_operator(Type::int64, Op::sum);
  return op;
}

/// Another compiler, or another version, may take a tenth more.
long bound(long instructions) {
  return instructions + instructions / 10;
}

/// Counts what is trapped, to its end.
class Counting {
 public:
  Counting() {
    struct sigaction counting = {};
    counting.sa_handler = &count_step;
    if (sigaction(SIGTRAP, &counting, &before_) != 0) std::abort();
  }
  ~Counting() { sigaction(SIGTRAP, &before_, nullptr); }
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

 private:
  struct sigaction before_ = {};
};

/// The fewest of some turns, in each of which the other rank has had time to do its part: nothing is waited
/// for then. One turn does, unless the other rank was held up.
long fewest(const Counted& counted) {
  GroupOptions options;
  options.wait.kind = WaitPolicy::Kind::yield;  // the other rank never sleeps, so it need not be woken
  constexpr int first = 4, last = 30;
  std::atomic<int> begun{0}, ended{0};
  std::atomic<long> least{1 << 30};
  ThreadGroup(2, options).run([&](Communicator& comm) {
    comm.select(Operation::broadcast, "ring");
    comm.select(Operation::allreduce, "one-shot:cell=524288:cells=1");
    comm.select(Operation::allgather, "one-shot");
    std::int64_t send = 1, receive[2] = {0, 0};
    for (int turn = 1; turn <= last && (turn <= first || least > counted.instructions); ++turn) {
      if (comm.rank() != counted.rank) {
        begun = turn;
        counted.call(comm, &send, receive);
        while (ended < turn) std::this_thread::yield();
        continue;
      }
      while (begun < turn) std::this_thread::yield();
      for (const std::int64_t until = os::now_ns() + 20000; os::now_ns() < until;) std::this_thread::yield();
      const auto call = [&] { counted.call(comm, &send, receive); };
      if (turn < first)
        call();
      else
        least = std::min(least.load(), steps_of(call));
      ended = turn;
    }
  });
  return least;
}

TEST(HotCalls, EightBytesBetweenTwoRanksTakeNoMoreInstructions) {
  if (!countable) GTEST_SKIP() << "counts the instructions of optimised x86-64 code";
  const Counting counting;
  const Counted all[] = {
      {"allreduce", 1, 281,
       [](Communicator& c, std::int64_t* send, std::int64_t* receive) {
         c.allreduce(send, receive, 1, sum());
       }},
      {"broadcast on the root", 0, 207,
       [](Communicator& c, std::int64_t*, std::int64_t* receive) { c.broadcast(receive, 8, 0); }},
      {"broadcast on another rank", 1, 215,
       [](Communicator& c, std::int64_t*, std::int64_t* receive) { c.broadcast(receive, 8, 0); }},
      {"allgather", 1, 271,
       [](Communicator& c, std::int64_t* send, std::int64_t* receive) { c.allgather(send, receive, 8); }},
      {"barrier", 1, 63, [](Communicator& c, std::int64_t*, std::int64_t*) { c.barrier(); }},
  };
  for (const Counted& counted : all) {
    const long found = fewest(counted);
    EXPECT_LE(found, bound(counted.instructions)) << counted.name;
    EXPECT_GE(found, counted.instructions / 2) << counted.name << ": not the whole call";
    RecordProperty(counted.name, static_cast<int>(found));
  }
}

TEST(HotCalls, ASimulatedNotificationTakesNoMoreInstructions) {
  if (!countable) GTEST_SKIP() << "counts the instructions of optimised x86-64 code";
  const Counting counting;
  constexpr int ranks = 16, rounds = 4;
  constexpr long instructions = 3697;  // by GCC 12 at -O2, in November 2026
  const sim::Machine machine = sim::testing::chip(4);
  sim::Simulation simulation(
      machine, sim::testing::on_contexts(machine, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}),
      ranks * rounds * arch::line_bytes);
  const auto flag = [&](int rank, int round) -> Word<std::uint64_t>& {
    return *reinterpret_cast<Word<std::uint64_t>*>(
        simulation.memory() + static_cast<std::size_t>(rank * rounds + round) * arch::line_bytes);
  };
  std::uint64_t episode = 0;
  const auto barrier = [&] {
    ++episode;
    simulation.run([&](sim::SimPort& port) {
      for (int round = 0; round < rounds; ++round) {
        port.signal(flag((port.rank() + (1 << round)) % ranks, round), episode);
        port.wait(flag(port.rank(), round), at_least(episode));
      }
    });
  };
  for (int warm_up = 0; warm_up < 3; ++warm_up) barrier();
  const long found = steps_of(barrier) / (ranks * rounds);
  EXPECT_LE(found, bound(instructions));
  EXPECT_GE(found, instructions / 2) << "not the whole barrier";
  RecordProperty("a simulated notification", static_cast<int>(found));
}

}  // namespace
}  // namespace phicoll
