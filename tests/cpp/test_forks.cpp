// Processes that a rank forks: no ranks. Their calls are refused, and their end is not the rank's.

#include <dirent.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "child_process.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/profile.hpp"
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

/// A folder for a profile that is being made, while it lives.
class Watching {
 public:
  Watching() : folder_("/tmp/phicoll-calls-XXXXXX") {
    if (mkdtemp(&folder_[0]) != nullptr) setenv("PHICOLL_PROFILE", folder_.c_str(), 1);
  }
  ~Watching() {
    unsetenv("PHICOLL_PROFILE");
    if (DIR* const folder = opendir(folder_.c_str())) {
      while (const dirent* const file = readdir(folder)) unlink((folder_ + "/" + file->d_name).c_str());
      closedir(folder);
    }
    rmdir(folder_.c_str());
  }
  static std::unique_ptr<CallLog> log(int rank, bool shared) {
    return CallLog::make({"1:here", 0, rank, 2, shared, "allreduce", "ring"});
  }
  /// Records in the file of a process that has one.
  std::size_t calls(pid_t process) const {
    std::FILE* file = nullptr;
    for (int i = 0; i < 8 && file == nullptr; ++i)
      file = std::fopen(
          (folder_ + "/" + std::to_string(process) + "-" + std::to_string(i) + ".calls").c_str(), "rb");
    if (file == nullptr) return 0;
    std::size_t found = 0;
    std::fseek(file, 4096, SEEK_SET);
    for (std::uint64_t record[3]; std::fread(record, sizeof record, 1, file) == 1 && record[0] != 0;
         ++found) {
    }
    std::fclose(file);
    return found;
  }

 private:
  std::string folder_;
};

TEST(ProfiledCalls, AreTimedOnAllRanksAlike) {
  const Watching watching;
  const std::unique_ptr<CallLog> logs[] = {Watching::log(0, true), Watching::log(1, true)};
  constexpr int calls = 1024 + 8 * 64;
  bool timed[2][calls];
  for (int rank = 0; rank < 2; ++rank)
    for (int i = 0; i < calls; ++i) {
      if (i % (3 + rank) == 0) logs[rank]->enter(CallLog::what(4096, false, false));  // another size
      timed[rank][i] = logs[rank]->enter(CallLog::what(8, false, false)) != 0;  // never left: none is long
    }
  for (int i = 0; i < calls; ++i) EXPECT_EQ(timed[0][i], timed[1][i]) << i;
  bool at_place[8] = {};
  for (int eight = 1024; eight < calls; eight += 8) {
    int in_eight = 0;
    for (int i = 0; i < 8; ++i) {
      in_eight += timed[0][eight + i] ? 1 : 0;
      at_place[i] |= timed[0][eight + i];
    }
    EXPECT_EQ(in_eight, 1) << eight;
  }
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(at_place[i]) << i;  // of a program with a period each call is timed
  for (int i = 0; i < 1024; ++i) EXPECT_TRUE(timed[0][i]) << i;
  EXPECT_NE(logs[0]->enter(CallLog::what(8, true, false)), 0u);  // with counts: the first of these
}

TEST(ProfiledCalls, OfAForkedProcessGoIntoAFileOfItsOwn) {
  const Watching watching;
  const std::unique_ptr<CallLog> log = Watching::log(0, false);
  const auto call = [&] { log->leave(log->enter(8), 8); };
  for (int i = 0; i < 3; ++i) call();
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 5; ++i) call();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  call();
  EXPECT_EQ(watching.calls(getpid()), 4u);
  EXPECT_EQ(watching.calls(child), 5u);
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
