// Processes that a rank forks: no ranks. Their calls are refused, and their end is not the rank's.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>

#include "child_process.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"

namespace phicoll {
namespace {

GroupOptions small() {
  GroupOptions options;
  options.memory_limit = std::size_t{1} << 20;
  options.attach_timeout_ms = 60000;
  options.timeout_ms = 10000;
  return options;
}

template <class Body>
int status_of_child(Body body) {
  return status_of(in_process(body));
}

/// Whether the call is refused as a forked process's, in words that name the rank.
template <class Function>
bool refused(int rank, Function call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error.what()).find("forked by rank " + std::to_string(rank)) != std::string::npos;
  }
  return false;
}

/// The number of the first call that is not refused in a process forked from the communicator's; 0 if there
/// is none.
int first_let_through(Communicator& comm, Barrier& barrier, void* block) {
  const int rank = comm.root_rank();
  std::int64_t word = 1;
  int number = 0;
  const auto let_through = [&](auto call) {
    ++number;
    return !refused(rank, call);
  };
  if (let_through([&] { comm.barrier(); })) return number;
  if (let_through([&] { barrier.wait(); })) return number;
  if (let_through([&] { comm.broadcast(&word, sizeof word, 0); })) return number;
  if (let_through([&] { comm.broadcast(nullptr, sizeof word, 0); })) return number;
  if (let_through([&] { Barrier(comm, "dissemination"); })) return number;
  if (let_through([&] { comm.split(0, 0); })) return number;
  if (let_through([&] { comm.allocate(8); })) return number;
  if (let_through([&] { comm.release(block); })) return number;
  if (let_through([&] { comm.fail("not the child's to say"); })) return number;
  return 0;
}

TEST(Forks, ChildOfARankIsNoRankAndItsEndIsNotTheRanks) {
  fork_and_run(2, small(), [](Communicator& comm) {
    std::int64_t word = comm.rank();
    comm.broadcast(&word, sizeof word, 0);  // the algorithms are there
    Barrier barrier(comm, "dissemination");
    void* const block = comm.allocate(8);
    std::unique_ptr<Communicator> part = comm.dup();
    Barrier of_part(*part, "dissemination");
    if (comm.rank() == 1) {
      const int status = status_of_child([&] {
        const int of_whole = first_let_through(comm, barrier, block);
        if (of_whole != 0) return of_whole;
        const int number = first_let_through(*part, of_part, block);
        part.reset();
        return number == 0 ? 0 : 10 + number;
      });
      if (status != 0) throw Error("the forked process ended with " + std::to_string(status));
    }
    for (int i = 0; i < 10; ++i) {
      comm.barrier();
      part->barrier();
    }
  });
}

TEST(Forks, ChildEndsItsCopyOfAMembershipWithoutLeavingTheGroup) {
  const GroupOptions options = small();
  const std::string name = "phicoll-forks-" + std::to_string(getpid());
  const auto rank = [&](int self) {
    auto group = ProcessGroup::attach(name, 2, self, options);  // rank 0 or 1 also serves the name
    const int status = status_of_child([&] {
      group.reset();
      return 0;
    });
    group->communicator().barrier();
    return status;
  };
  const pid_t other = in_process([&] { return rank(1); });
  EXPECT_EQ(rank(0), 0);
  EXPECT_EQ(status_of(other), 0);
}

TEST(Forks, ThreadsOfAForkedProcessAreNoRanks) {
  ThreadGroup group(2, small());
  group.run([](Communicator& comm) {
    comm.barrier();
    if (comm.rank() == 0) {
      const int status = status_of_child([&] { return refused(0, [&] { comm.barrier(); }) ? 0 : 1; });
      EXPECT_EQ(status, 0);
    }
    comm.barrier();
  });
}

TEST(Forks, GroupOfOneInPrivateMemoryServesItsCopyToo) {
  ThreadGroup group(1, small());
  group.run([](Communicator& comm) {
    comm.barrier();
    EXPECT_EQ(status_of_child([&] {
                std::int64_t word = 7;
                comm.barrier();
                comm.broadcast(&word, sizeof word, 0);
                return word == 7 ? 0 : 1;
              }),
              0);
  });
}

// Nobody waits for it, so nobody has to be told.
TEST(BadBuffer, OfARankAloneDoesNotBreakItsGroup) {
  ThreadGroup one(1, small());
  one.run([](Communicator& comm) {
    EXPECT_THROW(comm.broadcast(nullptr, 8, 0), ArgumentError);
    comm.barrier();
  });
  ThreadGroup two(2, small());
  two.run([](Communicator& comm) {
    const std::unique_ptr<Communicator> own = comm.split(comm.rank(), 0);
    EXPECT_THROW(own->broadcast(nullptr, 8, 0), ArgumentError);
    own->barrier();
    comm.barrier();
  });
}

TEST(BadBuffer, OfOneOfTwoRanksBreaksTheGroup) {
  ThreadGroup two(2, small());
  EXPECT_THROW(two.run([](Communicator& comm) {
    std::int64_t word = 0;
    comm.broadcast(comm.rank() == 0 ? nullptr : &word, sizeof word, 0);
  }),
               ArgumentError);
}

}  // namespace
}  // namespace phicoll
