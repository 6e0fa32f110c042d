// Copies between the memories of processes: tried when a group comes together, and what ports make of it.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "child_process.hpp"
#include "patience.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/cross_copies.hpp"
#include "phicoll/group/layout.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/os/cross_copy.hpp"
#include "phicoll/os/facts.hpp"
#include "refused_calls.hpp"

namespace phicoll {
namespace {

GroupOptions small() {
  GroupOptions options;
  options.memory_limit = std::size_t{1} << 20;
  options.heap_limit = std::size_t{1} << 20;
  options.attach_timeout_ms = 60000;
  return options;
}

void require(bool holds, const char* what) {
  if (!holds) throw Error(what);
}

/// In the region's first bytes, which no barrier of these tests reaches.
Exposed* board(Communicator& communicator) {
  return reinterpret_cast<Exposed*>(communicator.region() + (std::size_t{1} << 19));
}

TEST(CrossCopies, AreFoundToWorkByEveryRankAlike) {
  const os::CrossCopyProbe probe = os::probe_cross_copy();
  const bool works = probe.from_child == 0 && probe.from_sibling == 0;
  for (int ranks : {1, 2, 3, 8})
    fork_and_run(ranks, small(), [&](Communicator& communicator) {
      Control& control = communicator.control();
      require(control.cross_copies() == (works || ranks == 1), "cross_copies is not what a probe finds");
      require(control.pid(communicator.rank()) == getpid(), "the own pid");
      for (int r = 0; r < ranks; ++r) {
        require(control.pid(r) > 0, "a pid");
        for (int s = 0; s < r; ++s) require(control.pid(r) != control.pid(s), "pids differ");
      }
      communicator.barrier();
    });
}

TEST(CrossCopies, CanBeForbidden) {
  GroupOptions options = small();
  options.cross_copies = false;
  fork_and_run(2, options, [](Communicator& communicator) {
    require(!communicator.control().cross_copies(), "cross_copies");
    unsigned char own[16];
    const NativePort port(communicator.control(), communicator.rank(), WaitPolicy());
    require(!port.exposable(port.bind(own, sizeof own), sizeof own), "own memory is not exposable");
    void* const block = communicator.allocate(100);
    require(port.exposable(port.shared(block), 100), "the heap is");
    communicator.barrier();
    communicator.release(block);
  });
}

// Forced fallbacks are settled at the first use in a process: this test program starts itself again.
TEST(CrossCopies, AreNotUsedWhereFallbacksAreForced) {
  if (std::getenv("PHICOLL_RANK") != nullptr) {
    const auto group = ProcessGroup::from_environment();
    EXPECT_FALSE(group->communicator().control().cross_copies());
    group->communicator().barrier();
    return;
  }
  // A program of another instruction set runs under an emulator, which cannot start itself again.
  if (std::system("/proc/$PPID/exe --gtest_list_tests >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "this program cannot start itself here";
  const char* const before = std::getenv("PHICOLL_FORCE_FALLBACKS");
  const std::string kept = before != nullptr ? before : "";
  setenv("PHICOLL_FORCE_FALLBACKS", "1", 1);
  Launcher launcher({"/proc/self/exe", "--gtest_filter=CrossCopies.AreNotUsedWhereFallbacksAreForced"}, 3,
                    small());
  if (before != nullptr)
    setenv("PHICOLL_FORCE_FALLBACKS", kept.c_str(), 1);
  else
    unsetenv("PHICOLL_FORCE_FALLBACKS");
  EXPECT_EQ(launcher.wait(), 0);
}

/// Every rank exposes a buffer made by `make`; every other reads all of it and writes a byte of its own.
void exchange(Communicator& communicator, unsigned char* buffer, std::size_t bytes) {
  const NativePort port(communicator.control(), communicator.rank(), WaitPolicy());
  const int ranks = communicator.size();
  const auto at = [](int rank) { return static_cast<std::size_t>(rank); };
  std::memset(buffer, communicator.rank() + 1, bytes);
  const Data data = port.bind(buffer, bytes);
  require(port.exposable(data, bytes), "exposable");
  board(communicator)[communicator.rank()] = port.expose(data);
  communicator.barrier();
  std::vector<unsigned char> seen(bytes);
  for (int r = 0; r < ranks; ++r) {
    if (r == communicator.rank()) continue;
    const Exposed& exposed = board(communicator)[r];
    port.fetch(port.bind(seen.data(), bytes), exposed, 0, bytes);
    require(seen[1000] == r + 1 && seen[bytes - 1] == r + 1, "fetched");
    port.fetch(port.bind(seen.data(), 1), exposed, 1001, 1);
    require(seen[0] == r + 1, "fetched at an offset");
  }
  communicator.barrier();
  for (int r = 0; r < ranks; ++r) {
    if (r == communicator.rank()) continue;
    const Exposed& exposed = board(communicator)[r];
    const auto mark = static_cast<unsigned char>(100 + communicator.rank());
    port.put(exposed, at(communicator.rank()), port.bind(&mark, 1), 1);
  }
  communicator.barrier();
  for (int r = 0; r < ranks; ++r) require(buffer[r] == (r == communicator.rank() ? r + 1 : 100 + r), "put");
  communicator.barrier();
}

TEST(CrossCopies, ProcessesReadAndWriteEachOthersPrivateMemory) {
  fork_and_run(3, small(), [](Communicator& communicator) {
    if (!communicator.control().cross_copies()) return;
    std::vector<unsigned char> own(50001);
    exchange(communicator, own.data(), own.size());
  });
}

/// Ends the permission that the ranks had. Returns whether it has ended.
using Refuse = bool (*)(Communicator&);

/// Rank 1 becomes unreadable for the others. A privileged process reads it all the same, so the ranks have
/// given that up.
bool hide(Communicator& communicator) {
  if (communicator.rank() == 1) require(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0, "PR_SET_DUMPABLE");
  communicator.barrier();
  return true;
}
/// Rank 0 may not make the calls any more.
bool filter(Communicator& communicator) {
  if (communicator.rank() != 0) return true;
  return refuse_calls({SYS_process_vm_readv, SYS_process_vm_writev}, EPERM);
}

/// All that goes through other ranks' private memory.
void use(Communicator& communicator) {
  std::vector<unsigned char> own(100001);
  exchange(communicator, own.data(), own.size());
  const auto ranks = static_cast<std::size_t>(communicator.size());
  const auto rank = static_cast<std::size_t>(communicator.rank());
  constexpr std::size_t bytes = std::size_t{3} << 20;
  std::vector<unsigned char> sent(ranks * bytes), got(ranks * bytes);
  for (const char* const way : {"auto", "single-copy"}) {
    const AlgorithmSpec spec = family(Operation::alltoall).parse(way);
    for (std::size_t to = 0; to < ranks; ++to)
      std::memset(&sent[to * bytes], static_cast<int>(10 * rank + to), bytes);
    communicator.alltoall(sent.data(), got.data(), bytes, &spec);
    for (std::size_t from = 0; from < ranks; ++from)
      require(got[from * bytes] == 10 * from + rank && got[(from + 1) * bytes - 1] == 10 * from + rank, way);
    const AlgorithmSpec broadcast = family(Operation::broadcast).parse(way);
    communicator.broadcast(got.data(), bytes, 1, &broadcast);
    require(got[0] == 1 && got[bytes - 1] == 1, way);
  }
  const int next = (communicator.rank() + 1) % communicator.size();
  const int before = (communicator.rank() + communicator.size() - 1) % communicator.size();
  communicator.send_receive(sent.data(), bytes, next, 5, got.data(), bytes, before, 5);
  require(got[0] == 10 * before && got[bytes - 1] == 10 * before, "message");
}

class CrossCopiesThatEnd : public ::testing::TestWithParam<Refuse> {};
INSTANTIATE_TEST_SUITE_P(, CrossCopiesThatEnd, ::testing::Values(&hide, &filter), [](const auto& refuse) {
  return refuse.param == &hide ? "ByAHiddenRank" : "ByAFilter";
});

TEST_P(CrossCopiesThatEnd, AreMadeByTheOwner) {
  const Refuse refuse = GetParam();
  constexpr uid_t nobody = 65534;
  const auto give_up_privilege = [] {
    return geteuid() != 0 ||
           (setgid(nobody) == 0 && setuid(nobody) == 0 && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
  };
  const bool possible =
      status_of(in_process([&] {
        return (refuse == &hide ? give_up_privilege() : refuse_calls({SYS_process_vm_readv}, EPERM)) ? 0 : 1;
      })) == 0;
  if (!possible) GTEST_SKIP() << "the permission cannot be taken away here";
  GroupOptions options = small();
  options.heap_limit = std::size_t{64} << 20;
  options.memory_limit = std::size_t{64} << 20;
  fork_and_run(3, options, [&](Communicator& communicator) {
    if (!communicator.control().cross_copies()) return;
    if (refuse == &hide) require(give_up_privilege(), "setuid");
    communicator.barrier();
    use(communicator);
    communicator.barrier();
    require(refuse(communicator), "refuse");
    std::uint64_t word = 0;
    if (communicator.rank() == 0)
      require(os::cross_read(communicator.control().pid(1), &word, reinterpret_cast<std::uintptr_t>(&word),
                             8) == EPERM,
              "is refused");
    use(communicator);
    communicator.barrier();
  });
}

TEST(CrossCopies, BlocksOfTheHeapAreReachedByLoadsAndStores) {
  const auto body = [](Communicator& communicator) {
    auto* const block = static_cast<unsigned char*>(communicator.allocate(50001));
    exchange(communicator, block, 50001);
    const NativePort port(communicator.control(), communicator.rank(), WaitPolicy());
    require(NativePort::direct(port.expose(port.shared(block))), "direct");
    communicator.barrier();
    communicator.release(block);
  };
  fork_and_run(3, small(), body);
  ThreadGroup(3, small()).run(body);
}

TEST(CrossCopies, MemoryThatIsGoneBreaksTheGroupNamingItsOwner) {
  try {
    fork_and_run(2, small(), [](Communicator& communicator) {
      if (!communicator.control().cross_copies())
        communicator.fail("its memory could not be read: not tried");
      const NativePort port(communicator.control(), communicator.rank(), WaitPolicy());
      if (communicator.rank() == 1)
        board(communicator)[1] = port.expose(Data{reinterpret_cast<unsigned char*>(4096)});
      communicator.barrier();
      unsigned char seen[64];
      if (communicator.rank() == 0) port.fetch(port.bind(seen, 64), board(communicator)[1], 0, 64);
      communicator.barrier();
    });
    FAIL() << "read a page that nobody has";
  } catch (const BrokenGroupError& error) {
    EXPECT_NE(std::string(error.what()).find("could not be read"), std::string::npos) << error.what();
  }
}

// A number of a process may be a stranger's, in whose memory other things lie where a rank's word would be.
TEST(CrossCopies, AProcessThatIsNotTheRankIsNotWrittenTo) {
  if (os::probe_cross_copy().from_sibling != 0) GTEST_SKIP() << "no copies between processes here";
  for (const bool stranger : {false, true}) {
    os::SharedMemory memory = ProcessGroup::create_memory(2, small());
    ProcessHeader& header = *GroupLayout::header_at(memory.data());
    Control& control = *static_cast<Control*>(memory.data());
    CrossCopyTrial own(header, 0);
    int ready[2], end[2];
    ASSERT_EQ(pipe(ready), 0);
    ASSERT_EQ(pipe(end), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      CrossCopyTrial trial(header, 1);
      volatile const auto* const written =
          reinterpret_cast<const std::uint64_t*>(header.members[1].written_at);
      char byte = 0;
      if (write(ready[1], &byte, 1) != 1 || read(end[0], &byte, 1) != 1) _exit(2);
      _exit(written[0] != 0 ? 1 : 0);
    }
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    control.set_pid(1, pid);
    if (stranger) header.members[1].nonce ^= 2;
    own.try_all(control);
    EXPECT_EQ(header.cross_copies_failed.atomic().load(), stranger ? 1u : 0u);
    ASSERT_EQ(write(end[1], &byte, 1), 1);
    int status = 0;
    waitpid(pid, &status, 0);
    EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, stranger ? 0 : 1)
        << "whether its word was written";
    for (const int descriptor : {ready[0], ready[1], end[0], end[1]}) close(descriptor);
  }
}

// A process that attached, and then ended before it had tried the others: they must not wait for it.
TEST(CrossCopies, ARankThatDiesBeforeItHasTriedEndsTheOthers) {
  GroupOptions options = small();
  options.attach_timeout_ms = 120000;
  os::SharedMemory memory = ProcessGroup::create_memory(2, options);
  ProcessHeader& header = *GroupLayout::header_at(memory.data());
  const pid_t pid = fork();
  if (pid == 0) {
    auto& member = header.members[1];
    static_cast<Control*>(memory.data())->set_pid(1, getpid());
    member.pid.atomic().store(static_cast<std::uint32_t>(getpid()));
    std::thread([&] {
      member.life.acquire();
      member.state.atomic().store(ProcessHeader::attached);
      header.attached_count.atomic().fetch_add(1);
      while (header.tried_count.atomic().load() == 0) usleep(1000);
      _exit(0);
    }).join();
  }
  const std::int64_t start = os::now_ns();
  try {
    ProcessGroup::join(fcntl(memory.descriptor(), F_DUPFD_CLOEXEC, 3), 0);
    ADD_FAILURE() << "rank 1 never tried";
  } catch (const BrokenGroupError& error) {
    EXPECT_EQ(error.rank(), 1) << error.what();
  }
  EXPECT_LT(os::now_ns() - start, 60 * second_ns);
  waitpid(pid, nullptr, 0);
}

TEST(CrossCopies, ThreadsExposePointers) {
  ThreadGroup(3, small()).run([](Communicator& communicator) {
    EXPECT_EQ(communicator.control().pid(communicator.rank()), getpid());
    std::vector<unsigned char> own(50001);
    exchange(communicator, own.data(), own.size());
  });
}

}  // namespace
}  // namespace phicoll
