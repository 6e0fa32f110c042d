// Groups in trouble: options out of range, memory that does not fit, no descriptors left, deaths while others
// attach, other children of the same program. What must hold each time: an error that says what is wrong, the
// others told, the program as it was before.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "child_process.hpp"
#include "patience.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/layout.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/memory/region.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/liveness.hpp"

namespace phicoll {
namespace {

GroupOptions small() {
  GroupOptions options;
  options.memory_limit = std::size_t{1} << 20;
  options.attach_timeout_ms = 60000;
  return options;
}

/// Waits for ranks that do not come for longer than a test is patient.
GroupOptions patient() {
  GroupOptions options = small();
  options.attach_timeout_ms = 120000;
  return options;
}

/// When a rank of a group died, and when the last of the others had left the call, by os::now_ns.
struct DeathTimes {
  std::atomic<std::int64_t> died{0};
  std::atomic<std::int64_t> left{0};

  void leave() {
    const std::int64_t now = os::now_ns();
    for (std::int64_t last = left; last < now && !left.compare_exchange_weak(last, now);) {
    }
  }
};

void expect_refused(const GroupOptions& options, const std::string& argument) {
  SCOPED_TRACE(argument);
  for (bool threads : {true, false}) try {
      if (threads)
        ThreadGroup(2, options);
      else
        ProcessGroup::create_memory(2, options);
      FAIL() << "not refused";
    } catch (const ArgumentError& error) {
      EXPECT_EQ(error.argument(), argument) << error.what();
    }
}

TEST(Options, OutOfRangeAreRefusedByName) {
  GroupOptions options = small();
  options.timeout_ms = -1;
  expect_refused(options, "timeout_ms");
  options.timeout_ms = INT64_MAX / 1000;  // in ns it would overflow, and every wait would time out
  expect_refused(options, "timeout_ms");
  options = small();
  options.attach_timeout_ms = 0;
  expect_refused(options, "attach_timeout_ms");
  options = small();
  options.memory_limit = 0;
  expect_refused(options, "memory_limit");
  options.memory_limit = SIZE_MAX - 1000;  // rounded up to pages it would be next to nothing
  expect_refused(options, "memory_limit");
}

TEST(Options, APauseOfNoTurnsIsASpin) {
  GroupOptions options = small();
  options.wait.kind = WaitPolicy::Kind::pause;
  options.wait.pauses = 0;
  ThreadGroup(2, options).run([](Communicator& communicator) {
    for (int i = 0; i < 10; ++i) communicator.barrier();
  });
}

TEST(Placement, NoContextsAreRefused) {
  EXPECT_THROW(place_ranks(2, {}, Placement::compact), ArgumentError);
}

TEST(Region, SizesAndPlacesThatOverflowAreRefused) {
  Region region(4096);
  EXPECT_THROW(region.take(SIZE_MAX), ResourceError);
  EXPECT_THROW(region.take_at(SIZE_MAX - 63, 128), ArgumentError);
  EXPECT_THROW(region.take_at(64, SIZE_MAX), ResourceError);
  EXPECT_EQ(region.take(4096).offset, 0u);
}

TEST(ThreadGroup, ABarrierThatDoesNotFitIsRefusedWithoutEffect) {
  GroupOptions options = small();
  options.memory_limit = 4096;
  ThreadGroup(8, options).run([](Communicator& communicator) {
    communicator.select(Operation::barrier, "sense-reversing");
    communicator.barrier();
    EXPECT_THROW(communicator.select(Operation::barrier, "dissemination:reset=sense"), ResourceError);
    EXPECT_EQ(communicator.why().spec.name, "sense-reversing");
    EXPECT_THROW(communicator.select_at(Operation::barrier, family(Operation::barrier).parse("dissemination"),
                                        1 << 20),
                 ArgumentError);
    EXPECT_EQ(communicator.why().spec.name, "sense-reversing");
    for (int i = 0; i < 10; ++i) communicator.barrier();
  });
}

TEST(ThreadGroup, RunsAgainAfterItBrokeButNotTwiceAtOnce) {
  ThreadGroup group(3, small());
  EXPECT_THROW(group.run([](Communicator& communicator) {
    if (communicator.rank() == 2) throw std::logic_error("enough");
    communicator.barrier();
  }),
               std::logic_error);
  EXPECT_TRUE(group.broken());
  std::atomic<int> refused{0};
  group.run([&](Communicator& communicator) {
    communicator.barrier();
    try {
      group.run([](Communicator&) {});
    } catch (const Error&) {
      ++refused;
    }
    communicator.barrier();
  });
  EXPECT_EQ(refused, 3);
  EXPECT_FALSE(group.broken());
}

TEST(ProcessGroup, LeavesOtherChildrenOfTheProgramAlone) {
  const pid_t other = in_process([] { return 7; });
  usleep(20000);
  fork_and_run(2, small(), [](Communicator& communicator) { communicator.barrier(); });
  EXPECT_EQ(status_of(other), 7);
}

TEST(ProcessGroup, EndsWhereChildrenLeaveNoStatus) {
  EXPECT_EQ(status_of(in_process([] {
              signal(SIGCHLD, SIG_IGN);
              fork_and_run(2, small(), [](Communicator& communicator) { communicator.barrier(); });
              try {
                fork_and_run(2, small(), [](Communicator& communicator) {
                  communicator.barrier();
                  if (communicator.rank() == 0) kill(getpid(), SIGKILL);
                  communicator.barrier();
                });
              } catch (const BrokenGroupError& error) {
                return error.rank() == 0 ? 0 : 1;
              }
              return 2;
            })),
            0);
}

TEST(ProcessGroup, WhatIsNoExceptionIsACauseToo) {
  try {
    fork_and_run(2, small(), [](Communicator& communicator) {
      if (communicator.rank() == 1) throw 42;
      communicator.barrier();
    });
    FAIL();
  } catch (const BrokenGroupError& error) {
    EXPECT_EQ(error.rank(), 1);
    EXPECT_NE(std::string(error.what()).find("not an exception"), std::string::npos) << error.what();
  }
}

TEST(ProcessGroup, ItsDescriptorIsNotInheritedAndItsCpusAreGivenBack) {
  GroupOptions options = small();
  options.placement = "compact";
  EXPECT_EQ(status_of(in_process([&] {
              os::SharedMemory memory = ProcessGroup::create_memory(1, options);
              const std::vector<int> before = os::allowed_cpus();
              const int descriptor = dup(memory.descriptor());
              {
                auto group = ProcessGroup::join(descriptor, 0);
                if ((fcntl(descriptor, F_GETFD) & FD_CLOEXEC) == 0) return 1;
                if (os::allowed_cpus().size() != 1) return 2;
              }
              return os::allowed_cpus() == before ? 0 : 3;
            })),
            0);
}

TEST(ProcessGroup, ARankThatCannotEnterTellsTheOthers) {
  // Its place is a CPU that there is not: it fails when it pins itself. The others see it long before their
  // attach_timeout.
  os::SharedMemory memory = ProcessGroup::create_memory(2, patient());
  GroupLayout::header_at(memory.data())->members[1].place.cpu = 100000;
  const std::int64_t start = os::now_ns();
  const auto rank = [&](int r) {
    return in_process([&, r] {
      try {
        ProcessGroup::join(dup(memory.descriptor()), r);
      } catch (const BrokenGroupError& error) {
        return error.rank() == 1 && std::string(error.what()).find("100000") != std::string::npos ? 10 : 12;
      } catch (const ResourceError&) {
        return 13;
      }
      return 11;
    });
  };
  const pid_t first = rank(0);
  const pid_t second = rank(1);
  EXPECT_EQ(status_of(first), 10);
  EXPECT_EQ(status_of(second), 13);
  EXPECT_LT(os::now_ns() - start, 60 * second_ns);
}

/// Rank 1 is killed where rank 0 has no descriptor for it. Returns how many ns later rank 0 saw it.
std::int64_t ns_until_a_death_is_seen_without_descriptors() {
  os::SharedMemory memory = ProcessGroup::create_memory(2, small());
  os::SharedMemory board = os::SharedMemory::create("board", 4096);
  auto* const times = new (board.data()) DeathTimes;
  const auto rank = [&](int r) {
    return in_process([&, r] {
      const int descriptor = dup(memory.descriptor());
      struct rlimit limit = {};
      getrlimit(RLIMIT_NOFILE, &limit);
      limit.rlim_cur = static_cast<rlim_t>(descriptor) + 2;  // one for the watcher's alarm, none for a peer
      setrlimit(RLIMIT_NOFILE, &limit);
      auto group = ProcessGroup::join(descriptor, r);
      group->communicator().barrier();
      if (r == 1) pause();
      usleep(300000);  // the watcher has mostly found out by now that it gets no descriptor
      times->died = os::now_ns();
      try {
        group->communicator().barrier();
      } catch (const BrokenGroupError& error) {
        times->leave();
        return error.rank() != 1 ? 12 : 10;
      }
      return 11;
    });
  };
  const pid_t first = rank(0);
  const pid_t second = rank(1);
  EXPECT_TRUE(eventually([&] { return times->died != 0; }));
  kill(second, SIGKILL);
  EXPECT_EQ(status_of(first), 10);
  EXPECT_EQ(status_of(second), -SIGKILL);
  return times->left - times->died;
}

TEST(ProcessGroup, DeathsAreSeenWithoutDescriptorsForThem) {
  if (!os::RobustToken::works()) GTEST_SKIP() << "no robust mutexes here";
  expect_within(2 * second_ns, ns_until_a_death_is_seen_without_descriptors);
}

/// Waits until a rank has come so far.
void await_state(const os::SharedMemory& memory, int rank, std::uint32_t state) {
  EXPECT_TRUE(eventually([&] {
    return GroupLayout::header_at(memory.data())->members[rank].state.atomic().load() >= state;
  })) << "rank "
      << rank;
}

/// Kills a process, for which rank 0 waits in `first`. Returns how many ns later rank 0 ended with the error.
std::int64_t ns_until_a_missing_rank_is_seen_to_die(pid_t first, pid_t second) {
  const std::int64_t killed = os::now_ns();
  kill(second, SIGKILL);
  EXPECT_EQ(status_of(first), 10);
  const std::int64_t ns = os::now_ns() - killed;
  EXPECT_EQ(status_of(second), -SIGKILL);
  return ns;
}

/// Joins as `rank`: 10 if rank 1 died meanwhile.
pid_t joins_until_rank_1_dies(const os::SharedMemory& memory, int rank) {
  return in_process([&] {
    try {
      ProcessGroup::join(dup(memory.descriptor()), rank);
    } catch (const BrokenGroupError& error) {
      return error.rank() == 1 && std::string(error.what()).find("died") != std::string::npos ? 10 : 12;
    }
    return 11;
  });
}

TEST(ProcessGroup, ADeathWhileOthersStillAttachIsSeen) {
  expect_within(2 * second_ns, [] {
    os::SharedMemory memory = ProcessGroup::create_memory(3, patient());  // rank 2 never comes
    const pid_t first = joins_until_rank_1_dies(memory, 0);
    await_state(memory, 0, ProcessHeader::attached);
    const pid_t second = joins_until_rank_1_dies(memory, 1);
    await_state(memory, 1, ProcessHeader::attached);
    return ns_until_a_missing_rank_is_seen_to_die(first, second);
  });
}

TEST(ProcessGroup, ADeathBetweenTakingARankAndAttachingIsSeen) {
  if (!os::pidfd_available()) GTEST_SKIP() << "without pidfds only its attach_timeout ends this";
  expect_within(2 * second_ns, [] {
    os::SharedMemory memory = ProcessGroup::create_memory(2, patient());
    const pid_t second = in_process([&] {
      // As far as a process gets if its CPU is busy when it pins itself.
      auto& member = GroupLayout::header_at(memory.data())->members[1];
      member.pid.atomic().store(static_cast<std::uint32_t>(getpid()), std::memory_order_release);
      member.state.atomic().store(ProcessHeader::claimed, std::memory_order_release);
      return pause();
    });
    await_state(memory, 1, ProcessHeader::claimed);
    const pid_t first = joins_until_rank_1_dies(memory, 0);
    await_state(memory, 0, ProcessHeader::attached);
    return ns_until_a_missing_rank_is_seen_to_die(first, second);
  });
}

TEST(ProcessGroup, ADeathDuringTheGroupsOwnBarrierIsSeen) {
  // select() takes memory that was used before, so the ranks meet in the group's own barrier first.
  GroupOptions options = small();
  options.memory_limit = 64 * 1024;
  for (const char* wait : {"spin", "yield", "adaptive"}) {
    options.wait = parse_wait_policy(wait);
    SCOPED_TRACE(wait);
    expect_to_end_within(3 * second_ns, [&] {
      try {
        fork_and_run(2, options, [](Communicator& communicator) {
          for (int i = 0;; ++i) {
            communicator.select(Operation::barrier, i % 2 != 0 ? "sense-reversing" : "dissemination");
            communicator.barrier();
            if (i == 20 && communicator.rank() == 1) kill(getpid(), SIGKILL);
          }
        });
        ADD_FAILURE() << "nobody missed the rank";
      } catch (const BrokenGroupError& error) {
        EXPECT_EQ(error.rank(), 1) << error.what();
      }
    });
  }
}

/// Rank 1 is killed while it combines its part, for which all others wait in the same call. Returns how long
/// they stayed.
std::int64_t ns_with_a_dead_rank(int ranks) {
  const os::SharedMemory board = os::SharedMemory::create("board", 4096);
  auto* const times = new (board.data()) DeathTimes;
  GroupOptions options = small();
  options.memory_limit = std::size_t{32} << 20;
  try {
    fork_and_run(ranks, options, [&](Communicator& all) {
      const auto die = [](void* context, void*, const void*, const void*, std::size_t) {
        static_cast<DeathTimes*>(context)->died = os::now_ns();
        kill(getpid(), SIGKILL);
      };
      const auto keep = [](void*, void*, const void*, const void*, std::size_t) {};
      const Operator::Kernel kernel = all.rank() == 1 ? Operator::Kernel{die} : Operator::Kernel{keep};
      const Operator op = user_operator(8, true, kernel, times);
      const AlgorithmSpec sliced = family(Operation::allreduce).parse("sliced");
      std::vector<std::uint64_t> send(4096), receive(4096);
      all.barrier();
      try {
        all.allreduce(send.data(), receive.data(), send.size(), op, &sliced);
      } catch (const BrokenGroupError&) {
        times->leave();
        throw;
      }
    });
    ADD_FAILURE() << "nobody missed the rank";
  } catch (const BrokenGroupError& error) {
    EXPECT_EQ(error.rank(), 1) << error.what();
  }
  EXPECT_NE(times->died.load(), 0);
  return times->left - times->died;
}

// The dead rank is still noted as one that may read the others' buffers: they would wait for it for 200 ms.
TEST(ProcessGroup, ADeathInsideACallHoldsNobodyUp) {
  for (int run = 0; run < 5; ++run) expect_within(second_ns / 10, [] { return ns_with_a_dead_rank(4); });
  expect_within(second_ns, [] { return ns_with_a_dead_rank(32); });
}

// The rank that writes the cause may be killed while it does: the next one writes its own, and no wait stays.
TEST(ProcessGroup, ACauseThatWasHalfWrittenIsTakenOver) {
  const os::SharedMemory memory = ProcessGroup::create_memory(2, small());
  Control& control = *static_cast<Control*>(memory.data());
  void* const unreadable = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(unreadable, MAP_FAILED);
  const pid_t first = in_process([&] {
    control.break_group(0, static_cast<const char*>(unreadable));
    return 0;
  });
  EXPECT_NE(status_of(first), 0) << "it dies where it reads the reason";
  EXPECT_FALSE(control.broken());
  const pid_t second = in_process([&] {
    alarm(10);
    control.break_group(1, "the second cause");
    return control.broken() ? 7 : 8;
  });
  EXPECT_EQ(status_of(second), 7);
  EXPECT_EQ(control.broken_rank(), 1);
  EXPECT_EQ(control.broken_reason(), "the second cause");
  munmap(unreadable, 4096);
}

// A test program that is killed, as ctest kills one that takes too long, leaves no rank that goes on
// spinning.
TEST(TestProgram, ItsChildrenEndWithIt) {
  ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  int report[2];
  ASSERT_EQ(pipe(report), 0);
  const pid_t program = in_process([&] {
    in_process([&] {
      const pid_t own = getpid();
      if (write(report[1], &own, sizeof own) != sizeof own) return 1;
      alarm(5);
      for (;;) std::atomic_signal_fence(std::memory_order_seq_cst);
      return 0;
    });
    return pause();
  });
  pid_t spinning = 0;
  ASSERT_EQ(read(report[0], &spinning, sizeof spinning), static_cast<ssize_t>(sizeof spinning));
  kill(program, SIGKILL);
  EXPECT_EQ(status_of(program), -SIGKILL);
  EXPECT_EQ(status_of(spinning), -SIGKILL);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  close(report[0]);
  close(report[1]);
}

TEST(Launched, RankZeroJoinsAndRankOneDoesNot) {
  if (getenv("PHICOLL_GROUP_FD") == nullptr) GTEST_SKIP() << "only where a launcher started it";
  if (std::string(getenv("PHICOLL_RANK")) == "1") _exit(0);
  const std::int64_t start = os::now_ns();
  try {
    ProcessGroup::from_environment();
    _exit(20);
  } catch (const BrokenGroupError& error) {
    const bool told = std::string(error.what()).find("ended without joining") != std::string::npos;
    if (!told) std::fprintf(stderr, "%s\n", error.what());
    _exit(error.rank() == 1 && told && os::now_ns() - start < 60 * second_ns ? 10 : 21);
  }
}

TEST(Launcher, ARankThatEndsBeforeItJoinsIsMissedAtOnce) {
  // A program of another instruction set runs under an emulator, which cannot start itself again.
  if (!os::RobustToken::works()) GTEST_SKIP() << "no programs can be started from here";
  Launcher launcher({"/proc/self/exe", "--gtest_filter=Launched.*"}, 2, patient());
  // Not wait(), which reaps the dead and says so: the launcher has other things to do. Status left to it.
  siginfo_t ended;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(launcher.pids()[0]), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(ended.si_status, 10);
}

TEST(Launcher, LeavesItsOwnEnvironmentAsItIs) {
  setenv("PHICOLL_RANK", "mine", 1);
  Launcher launcher(
      {"sh", "-c", "test -n \"$PHICOLL_GROUP_FD\" && test \"$PHICOLL_RANK\" != mine || exit 9; exit 5"}, 2,
      small());
  try {
    launcher.wait();
    FAIL();
  } catch (const BrokenGroupError& error) {
    EXPECT_NE(std::string(error.what()).find("exit status 5"), std::string::npos) << error.what();
  }
  EXPECT_STREQ(getenv("PHICOLL_RANK"), "mine");
  EXPECT_EQ(getenv("PHICOLL_GROUP_FD"), nullptr);
  unsetenv("PHICOLL_RANK");
}

}  // namespace
}  // namespace phicoll
