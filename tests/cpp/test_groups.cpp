// Groups of threads and of processes: what a user sees when all goes well, and within a second when it does
// not.

#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "attaching.hpp"
#include "child_process.hpp"
#include "patience.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"

namespace phicoll {
namespace {

GroupOptions waiting(const std::string& wait) {
  GroupOptions options;
  options.wait = parse_wait_policy(wait);
  options.attach_timeout_ms = 60000;
  options.memory_limit = std::size_t{4} << 20;
  return options;
}

// More ranks than CPUs that spin without yielding take a time slice for each step; the bound of one second is
// for ranks that run, so those policies are tested with as many ranks as CPUs.
int ranks_for(const std::string& wait) {
  return wait == "spin" || wait == "pause" ? 2 : 4;
}

class EveryWait : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Policies, EveryWait, ::testing::Values("spin", "pause", "yield", "adaptive"),
                         [](const auto& policy) { return std::string(policy.param); });

TEST(ThreadGroup, RunsEveryRankOnceWithOneShape) {
  ThreadGroup group(5, waiting("adaptive"));
  std::atomic<int> sum{0};
  group.run([&](Communicator& communicator) {
    EXPECT_EQ(communicator.size(), 5);
    communicator.barrier();
    sum += 1 << communicator.rank();
    communicator.barrier();
    EXPECT_EQ(sum.load(), 31);
  });
  EXPECT_FALSE(group.broken());
}

TEST(ThreadGroup, PinsByPlacement) {
  const int cpu = os::allowed_cpus().back();
  GroupOptions options = waiting("adaptive");
  options.placement = std::to_string(cpu);
  ThreadGroup(3, options).run([&](Communicator&) { EXPECT_EQ(os::current_cpu(), cpu); });
}

TEST(ThreadGroup, RefusesBadArguments) {
  EXPECT_THROW(ThreadGroup(0), ArgumentError);
  EXPECT_THROW(ThreadGroup(1025), ArgumentError);
  GroupOptions options;
  options.placement = "diagonal";
  EXPECT_THROW(ThreadGroup(2, options), ArgumentError);
  options.placement = "0,0";
  EXPECT_THROW(ThreadGroup(2, options), ArgumentError);
}

TEST(ThreadGroup, AFootprintOverTheLimitIsRefusedWithItsSize) {
  GroupOptions options;
  options.memory_limit = 4096;
  try {
    ThreadGroup(64, options).run([](Communicator& communicator) {
      communicator.select(Operation::barrier, "dissemination");
    });
    FAIL() << "64 ranks' flags fit into a page";
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find("memory_limit"), std::string::npos) << error.what();
  }
}

TEST_P(EveryWait, AThreadThatRaisesEndsTheOthers) {
  expect_to_end_within(2 * second_ns, [&] {
    ThreadGroup group(ranks_for(GetParam()), waiting(GetParam()));
    EXPECT_THROW(group.run([](Communicator& communicator) {
      for (int i = 0; i < 10; ++i) communicator.barrier();
      if (communicator.rank() == 1) throw std::logic_error("rank 1 had enough");
      communicator.barrier();
    }),
                 std::logic_error);
    EXPECT_TRUE(group.broken());
  });
}

TEST_P(EveryWait, AThreadThatLeavesEndsTheOthers) {
  expect_to_end_within(2 * second_ns, [&] {
    ThreadGroup group(ranks_for(GetParam()), waiting(GetParam()));
    try {
      group.run([](Communicator& communicator) {
        communicator.barrier();
        if (communicator.rank() == 0) return;
        communicator.barrier();
      });
      ADD_FAILURE() << "the others left a barrier that rank 0 never entered";
    } catch (const BrokenGroupError& error) {
      EXPECT_EQ(error.rank(), 0);
      EXPECT_NE(std::string(error.what()).find("left after"), std::string::npos) << error.what();
    }
  });
}

TEST(ThreadGroup, ATimeoutRaisesAndBreaks) {
  GroupOptions options = waiting("adaptive");
  options.timeout_ms = 100;
  ThreadGroup group(2, options);
  std::atomic<bool> timed_out{false};
  EXPECT_THROW(group.run([&](Communicator& communicator) {
    communicator.barrier();
    // Rank 1 comes when rank 0 has given up, however long that takes on a busy machine.
    for (int i = 0; communicator.rank() == 1 && !timed_out && i < 3000; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    try {
      communicator.barrier();
    } catch (const TimeoutError&) {
      timed_out = true;
      throw;
    }
  }),
               TimeoutError);
}

TEST(ThreadGroup, BarriersComeAndGoInOneRegion) {
  GroupOptions options = waiting("adaptive");
  options.memory_limit = 64 * 1024;  // so that memory is used again
  ThreadGroup(3, options).run([](Communicator& communicator) {
    Barrier kept(communicator, "sense-reversing");
    for (int i = 0; i < 40; ++i) {
      Barrier barrier(communicator, i % 2 != 0 ? "dissemination" : "dissemination:reset=sense:layout=packed");
      for (int n = 0; n < 5; ++n) {
        barrier.wait();
        kept.wait();
      }
    }
  });
}

TEST(ProcessGroup, ForkedRanksMeet) {
  for (int ranks : {1, 2, 3, 8}) {
    fork_and_run(ranks, waiting("adaptive"), [&](Communicator& communicator) {
      if (communicator.size() != ranks) throw std::logic_error("another size");
      for (int i = 0; i < 200; ++i) communicator.barrier();
    });
  }
}

TEST(ProcessGroup, AProcessThatRaisesEndsTheOthersWithItsReason) {
  try {
    fork_and_run(4, waiting("adaptive"), [](Communicator& communicator) {
      communicator.barrier();
      if (communicator.rank() == 2) throw std::logic_error("rank 2 had enough");
      communicator.barrier();
    });
    FAIL();
  } catch (const BrokenGroupError& error) {
    EXPECT_EQ(error.rank(), 2);
    EXPECT_NE(std::string(error.what()).find("rank 2 had enough"), std::string::npos) << error.what();
  }
}

/// What the ranks of a test tell each other and the parent, in memory that they share: times by os::now_ns.
struct Board {
  std::atomic<int> met{0};
  std::atomic<std::int64_t> killed{0};
  std::atomic<std::int64_t> seen{0};  // by the last rank that saw it

  void see() {
    const std::int64_t now = os::now_ns();
    for (std::int64_t last = seen; last < now && !seen.compare_exchange_weak(last, now);) {
    }
  }
};

/// The parent kills the ranks in `victims` once all have met; every other rank must see BrokenGroupError.
/// Returns how many ns later the last one did. Survivors report through exit statuses: 10 for the right
/// error.
std::int64_t ns_until_a_death_is_seen(int ranks, const std::string& wait, const std::vector<int>& victims) {
  const auto is_victim = [&](int rank) {
    return std::find(victims.begin(), victims.end(), rank) != victims.end();
  };
  os::SharedMemory memory = ProcessGroup::create_memory(ranks, waiting(wait));
  os::SharedMemory shared = os::SharedMemory::create("board", sizeof(Board));
  Board& board = *new (shared.data()) Board;
  std::vector<pid_t> pids;
  for (int r = 0; r < ranks; ++r)
    pids.push_back(in_process([&] {
      auto group = ProcessGroup::join(dup(memory.descriptor()), r, parse_wait_policy(wait));
      for (int i = 0; i < 20; ++i) group->communicator().barrier();
      ++board.met;
      if (is_victim(r)) pause();
      try {
        group->communicator().barrier();
        return 12;
      } catch (const BrokenGroupError& error) {
        board.see();
        return is_victim(error.rank()) ? 10 : 13;
      }
    }));
  EXPECT_TRUE(eventually([&] { return board.met == ranks; }));
  board.killed = os::now_ns();
  for (int victim : victims) kill(pids[static_cast<std::size_t>(victim)], SIGKILL);
  for (int r = 0; r < ranks; ++r)
    EXPECT_EQ(status_of(pids[static_cast<std::size_t>(r)]), is_victim(r) ? -SIGKILL : 10) << "rank " << r;
  EXPECT_TRUE(static_cast<Control*>(memory.data())->broken());
  return board.seen - board.killed;
}

void expect_death_is_seen(int ranks, const std::string& wait, const std::vector<int>& victims) {
  SCOPED_TRACE(wait + " ranks " + std::to_string(ranks));
  expect_within(second_ns, [&] { return ns_until_a_death_is_seen(ranks, wait, victims); });
}

TEST_P(EveryWait, TheDeathOfRankZeroIsSeen) {
  expect_death_is_seen(ranks_for(GetParam()), GetParam(), {0});
}
TEST_P(EveryWait, TheDeathOfTheLastRankIsSeen) {
  const int ranks = ranks_for(GetParam());
  expect_death_is_seen(ranks, GetParam(), {ranks - 1});
}
TEST_P(EveryWait, TheDeathOfTwoNeighboursIsSeen) {
  const int ranks = std::string(GetParam()) == "spin" || std::string(GetParam()) == "pause" ? 3 : 5;
  expect_death_is_seen(ranks, GetParam(), {1, 2});
}

/// Rank 1 leaves and lives on; rank 2 dies; rank 0's successor was rank 1. Returns how many ns later rank 0
/// saw it.
std::int64_t ns_until_a_death_past_one_that_left_is_seen() {
  os::SharedMemory memory = ProcessGroup::create_memory(3, waiting("adaptive"));
  os::SharedMemory shared = os::SharedMemory::create("board", sizeof(Board));
  Board& board = *new (shared.data()) Board;
  std::vector<pid_t> pids;
  for (int r = 0; r < 3; ++r)
    pids.push_back(in_process([&] {
      auto group = ProcessGroup::join(dup(memory.descriptor()), r);
      for (int i = 0; i < 3; ++i) group->communicator().barrier();
      if (r == 1) {
        group.reset();
        ++board.met;
        return pause();
      }
      if (r == 2) {
        if (!eventually([&] { return board.met == 1; })) return 13;
        usleep(20000);  // rank 0 will mostly have found another successor
        board.killed = os::now_ns();
        kill(getpid(), SIGKILL);
      }
      // No call that rank 1 missed: only the death can end this wait.
      if (!eventually([&] { return group->communicator().control().broken(); })) return 12;
      board.see();
      return group->communicator().control().broken_rank() == 2 ? 10 : 11;
    }));
  EXPECT_EQ(status_of(pids[0]), 10);
  EXPECT_EQ(status_of(pids[2]), -SIGKILL);
  kill(pids[1], SIGKILL);
  EXPECT_EQ(status_of(pids[1]), -SIGKILL);
  return board.seen - board.killed;
}

TEST(ProcessGroup, ADeathIsSeenPastARankThatLeftInOrder) {
  expect_within(second_ns, ns_until_a_death_past_one_that_left_is_seen);
}

/// A launcher that starts two ranks and dies; the ranks report through a pipe, since nobody is left to wait
/// for them. Returns how many ns later both had seen it.
std::int64_t ns_until_the_death_of_the_launcher_is_seen() {
  int report[2];
  if (pipe(report) != 0) throw std::runtime_error("no pipe");
  os::SharedMemory shared = os::SharedMemory::create("board", sizeof(Board));
  Board& board = *new (shared.data()) Board;
  const pid_t launcher = fork();
  if (launcher == 0) {
    const auto body = [&](Communicator& communicator) {
      prctl(PR_SET_PDEATHSIG, 0);  // what end_with_parent.cpp asks for
      communicator.barrier();
      char verdict = 'n';
      if (communicator.rank() == 0) {
        board.killed = os::now_ns();
        kill(getppid(), SIGKILL);
      }
      try {
        // Rank 1 waits in a barrier for rank 0, which waits for nothing but the news.
        if (communicator.rank() == 1) communicator.barrier();
        eventually([&] {
          communicator.control().check_broken(communicator.rank());
          return false;
        });
      } catch (const BrokenGroupError& error) {
        board.see();
        verdict = std::string(error.what()).find("launcher") != std::string::npos ? 'y' : 'w';
      }
      if (write(report[1], &verdict, 1) != 1) _exit(1);
      throw std::logic_error("over");
    };
    try {
      fork_and_run(2, waiting("adaptive"), body);
    } catch (...) {
    }
    _exit(0);
  }
  close(report[1]);
  std::string verdicts;
  char verdict;
  while (read(report[0], &verdict, 1) == 1) verdicts += verdict;
  EXPECT_EQ(verdicts, "yy");
  close(report[0]);
  EXPECT_EQ(status_of(launcher), -SIGKILL);
  return board.seen - board.killed;
}

TEST(ProcessGroup, TheDeathOfTheLauncherIsSeen) {
  expect_within(second_ns, ns_until_the_death_of_the_launcher_is_seen);
}

std::string unique_name(const char* what) {
  return std::string(what) + "-" + std::to_string(getpid());
}

/// Starts a child that ends with what `body` returns as its exit status, or with a number for what it throws.
template <class Body>
pid_t attaching(Body body) {
  return in_process([body] {
    try {
      return body();
    } catch (const ArgumentError& error) {
      return error.argument() == "size" ? 21 : error.argument() == "rank" ? 22 : 20;
    } catch (const BrokenGroupError& error) {
      return std::string(error.what()).find("missing ranks: 1, 3") != std::string::npos ? 31 : 30;
    }
  });
}

TEST(Attach, SeparateProgramsFindEachOtherByName) {
  const std::string name = unique_name("meet");
  std::vector<pid_t> pids;
  for (int r = 0; r < 4; ++r)
    pids.push_back(attaching([&] {
      auto group = ProcessGroup::attach(name, 4, r, waiting("adaptive"));
      for (int i = 0; i < 100; ++i) group->communicator().barrier();
      return 0;
    }));
  for (pid_t pid : pids) EXPECT_EQ(status_of(pid), 0);
  // Nothing is left: the name is free again.
  auto alone = ProcessGroup::attach(name, 1, 0, waiting("adaptive"));
  alone->communicator().barrier();
}

// There all users that it does not map have one number.
TEST(Attach, IsRefusedInAUserNamespaceThatDoesNotMapTheUser) {
  const int status = status_of(attaching([&] {
    if (unshare(CLONE_NEWUSER) != 0) return 77;
    try {
      ProcessGroup::attach("unmapped-" + std::to_string(getpid()), 1, 0, waiting("adaptive"));
    } catch (const ResourceError& error) {
      return std::string(error.what()).find("user namespace") != std::string::npos ? 5 : 6;
    }
    return 7;
  }));
  if (status == 77) GTEST_SKIP() << "no user namespace can be made";
  EXPECT_EQ(status, 5);
}

// A program with more rights than its caller shares memory with programs that have these rights, not with the
// caller's.
TEST(Attach, MeetsProgramsOfItsEffectiveUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root takes other users";
  const std::string name = unique_name("setuid");
  std::vector<pid_t> pids;
  for (int r = 0; r < 2; ++r)
    pids.push_back(attaching([&] {
      if (r == 1 && setresuid(1, 0, 0) != 0) return 77;
      GroupOptions options = waiting("adaptive");
      options.attach_timeout_ms = 5000;
      ProcessGroup::attach(name, 2, r, options)->communicator().barrier();
      return 0;
    }));
  for (pid_t pid : pids) EXPECT_EQ(status_of(pid), 0);
}

/// Attaches two programs that may use these CPUs alone, and asks both for something of their communicators.
template <class Asked>
void attach_two_on(const std::vector<int>& first, const std::vector<int>& second, Asked asked) {
  const std::string name = unique_name("cpus");
  std::vector<pid_t> pids;
  for (int r = 0; r < 2; ++r)
    pids.push_back(attaching([&] {
      os::set_thread_cpus(r == 0 ? first : second);
      auto group = ProcessGroup::attach(name, 2, r, waiting("adaptive"));
      for (int i = 0; i < 100; ++i) group->communicator().barrier();
      return asked(group->communicator()) && os::allowed_cpus() == (r == 0 ? first : second) ? 0 : 1;
    }));
  for (pid_t pid : pids) EXPECT_EQ(status_of(pid), 0);
}

TEST(Attach, ProgramsThatWerePinnedAreTakenToBeWhereTheyRun) {
  const std::vector<int> cpus = os::allowed_cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "one CPU";
  const std::vector<int> a = {cpus[0]};
  const std::vector<int> b = {cpus[1]};
  const std::vector<int> both = {cpus[0], cpus[1]};
  attach_two_on(a, b, [&](const Communicator& comm) {
    return comm.shape()[0].cpu == a[0] && comm.shape()[1].cpu == b[0] && !comm.shape().oversubscribed();
  });
  attach_two_on(a, a, [](const Communicator& comm) { return comm.shape().oversubscribed(); });
  attach_two_on(a, both, [](const Communicator& comm) {
    return comm.shape()[0].cpu < 0 && comm.shape()[1].cpu < 0 && !comm.shape().crowded();
  });
}

TEST(Attach, AWrongSizeOrATakenRankIsRefusedAndTheGroupGoesOn) {
  const std::string name = unique_name("refuse");
  const pid_t first = attaching([&] {
    auto group = ProcessGroup::attach(name, 2, 0, waiting("adaptive"));
    group->communicator().barrier();
    return 0;
  });
  EXPECT_TRUE(eventually([&] { return has_made_its_group(first); }));
  EXPECT_EQ(status_of(attaching([&] {
              ProcessGroup::attach(name, 3, 1, waiting("adaptive"));
              return 0;
            })),
            21);
  EXPECT_EQ(status_of(attaching([&] {
              ProcessGroup::attach(name, 2, 0, waiting("adaptive"));
              return 0;
            })),
            22);
  const pid_t second = attaching([&] {
    auto group = ProcessGroup::attach(name, 2, 1, waiting("adaptive"));
    group->communicator().barrier();
    return 0;
  });
  EXPECT_EQ(status_of(first), 0);
  EXPECT_EQ(status_of(second), 0);
}

TEST(Attach, AnIncompleteGroupFailsOnAllWhoAttachedAndNamesTheMissing) {
  std::int64_t timeout_ms = 200;
  expect_within(3 * second_ns, [&] {
    const std::string name = unique_name("incomplete");
    GroupOptions options = waiting("adaptive");
    timeout_ms = std::min<std::int64_t>(2 * timeout_ms, 20000);
    options.attach_timeout_ms = timeout_ms;
    const std::int64_t start = os::now_ns();
    std::vector<pid_t> pids;
    for (int r : {0, 2})
      pids.push_back(attaching([&] {
        ProcessGroup::attach(name, 4, r, options);
        return 0;
      }));
    const int first = status_of(pids[0]);
    const int second = status_of(pids[1]);
    if (first == 30 && second == 30)
      return 60 * second_ns;  // one of them came when the other had waited for so long
    EXPECT_EQ(first, 31);
    EXPECT_EQ(second, 31);
    return os::now_ns() - start - timeout_ms * 1000000;
  });
}

TEST(Attach, BadNamesAndRanksAreRefused) {
  EXPECT_THROW(ProcessGroup::attach("", 2, 0), ArgumentError);
  EXPECT_THROW(ProcessGroup::attach(std::string(200, 'x'), 2, 0), ArgumentError);
  EXPECT_THROW(ProcessGroup::attach("x", 2, 2), ArgumentError);
  EXPECT_THROW(ProcessGroup::attach("x", 0, 0), ArgumentError);
}

TEST(Launcher, StartsProgramsAndReportsOneThatCannotStart) {
  Launcher missing({"/nonexistent/program"}, 2, waiting("adaptive"));
  EXPECT_THROW(missing.wait(), BrokenGroupError);
  // A program that ends in order without joining is a broken group too.
  Launcher stranger({"true"}, 2, waiting("adaptive"));
  EXPECT_THROW(stranger.wait(), BrokenGroupError);
}

TEST(Memory, MoreThanTheMachineHasIsRefusedWithTheSize) {
  GroupOptions options;
  options.memory_limit = std::size_t{1} << 45;
  try {
    ProcessGroup::create_memory(2, options);
    FAIL() << "32 TiB";
  } catch (const ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find("35184"), std::string::npos) << error.what();
  }
}

TEST(Communicator, AutoKnowsThatUnplacedRanksAreMoreThanTheCpus) {
  const int crowd = os::allowed_cpu_count() + 2;
  const auto check = [](Communicator& communicator) {
    if (communicator.why().spec.name != "sense-reversing") throw std::runtime_error("not what was chosen");
    communicator.barrier();
  };
  ThreadGroup(crowd).run(check);
  fork_and_run(crowd, GroupOptions(), check);
}

}  // namespace
}  // namespace phicoll
