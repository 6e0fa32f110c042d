// A rank overwrites the group's shared memory, by a stray pointer say. Whatever it writes, the process that
// started the ranks ends with an error of its own.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>

#include "child_process.hpp"
#include "patience.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/layout.hpp"
#include "phicoll/group/outside_view.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace {

GroupOptions small() {
  GroupOptions options;
  options.memory_limit = std::size_t{1} << 20;
  options.heap_limit = std::size_t{1} << 20;
  return options;
}

using Overwrite = std::function<void(unsigned char* memory)>;

/// What a launcher says of a group of three whose last rank overwrites its memory and exits with a status,
/// while another waits for it.
void launch(const Overwrite& overwrite, int status) {
  const pid_t launcher = in_process([&] {
    std::freopen("/dev/null", "w", stderr);
    try {
      fork_and_run(3, small(), [&](Communicator& all) {
        all.barrier();
        if (all.rank() == 2) {
          overwrite(reinterpret_cast<unsigned char*>(&all.control()));
          _exit(status);
        }
        all.barrier();
        all.barrier();
      });
    } catch (const BrokenGroupError& error) {
      return error.rank() >= -1 && error.rank() < 3 && std::strlen(error.what()) > 30 ? 10 : 11;
    }
    return 12;
  });
  EXPECT_EQ(status_of(launcher), 10);
}

TEST(Overwritten, ClearedMemoryIsTold) {
  for (const std::size_t bytes : {std::size_t{4096}, std::size_t{40000}, GroupLayout::region_offset()})
    for (const int status : {0, 3}) {
      SCOPED_TRACE(std::to_string(bytes) + " bytes, exit status " + std::to_string(status));
      launch([&](unsigned char* memory) { std::memset(memory, 0, bytes); }, status);
    }
}

TEST(Overwritten, FilledMemoryIsTold) {
  for (const int fill : {1, 0x41, 0xff}) {
    SCOPED_TRACE(fill);
    launch([&](unsigned char* memory) { std::memset(memory, fill, GroupLayout::region_offset()); }, 0);
  }
}

TEST(Overwritten, RandomWritesAreSurvived) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    launch(
        [&](unsigned char* memory) {
          Random random(seed);
          for (int i = 0; i < 3000; ++i) {
            const std::uint64_t value = random.next() >> random.below(64);
            std::memcpy(memory + random.below(65536), &value, 8);
          }
        },
        3);
  }
}

/// A launcher's group, and its control as a rank may leave it.
struct Outside {
  os::SharedMemory memory = ProcessGroup::create_memory(2, small());
  Control& control = *static_cast<Control*>(memory.data());
  OutsideView view{memory.data(), 2};

  void fill(std::size_t offset, std::size_t bytes, int with) {
    std::memset(static_cast<unsigned char*>(memory.data()) + offset, with, bytes);
  }
};

TEST(OutsideView, TellsWhatARankSaid) {
  Outside group;
  EXPECT_FALSE(group.view.broken());
  group.control.break_group(1, "a reason");
  group.view.break_group(0, "another");
  EXPECT_TRUE(group.view.broken());
  EXPECT_EQ(group.view.cause().rank, 1);
  EXPECT_EQ(group.view.cause().reason, "a reason");
}

TEST(OutsideView, ABrokenRankOutsideTheGroupIsNoRank) {
  for (const int rank : {2, 1000000, -7, INT32_MIN}) {
    Outside group;
    group.control.break_group(rank, "a reason");
    EXPECT_EQ(group.view.cause().rank, any_rank);
  }
}

TEST(OutsideView, AReasonIsCutAtItsEndAndPrintable) {
  Outside group;
  group.control.break_group(1, std::string(5000, 'x').c_str());
  EXPECT_EQ(group.view.cause().reason, std::string(479, 'x'));
  Outside other;
  other.control.break_group(1, "bell \a, \xff and \xc3");
  EXPECT_EQ(other.view.cause().reason, "bell ?, ? and ?");
}

TEST(OutsideView, HowAProcessEndedIsKnownToWhoWaitedForIt) {
  Outside group;
  group.control.break_group(1, OutsideView::died);  // by a peer, earlier
  group.view.break_group(1, "died of signal 11");
  EXPECT_EQ(group.view.cause().reason, "died of signal 11");
  Outside other;
  other.control.break_group(0, OutsideView::died);
  other.view.break_group(1, "ended with exit status 1");  // a consequence
  EXPECT_EQ(other.view.cause().rank, 0);
}

TEST(OutsideView, WhatTheMakerSetIsMissed) {
  Outside group;
  group.fill(0, sizeof(Control), 0);
  EXPECT_TRUE(group.view.broken());
  EXPECT_EQ(group.view.cause().rank, any_rank);
  EXPECT_EQ(group.view.cause().reason, "the group's shared memory was overwritten");
  Outside other;
  other.view.break_group(1, "died of signal 11");
  other.fill(GroupLayout::header_offset(), sizeof(ProcessHeader), 0xff);
  EXPECT_TRUE(other.view.broken());
  EXPECT_EQ(other.view.cause().rank, 1);
  EXPECT_EQ(other.view.cause().reason, "died of signal 11; the group's shared memory was overwritten");
}

TEST(OutsideView, NumbersOfProcessesAreNumbersOfProcesses) {
  Outside group;
  group.fill(GroupLayout::header_offset(), sizeof(ProcessHeader), 0xff);
  for (int r = 0; r < 2; ++r) {
    EXPECT_EQ(group.view.pid(r), 0);
    EXPECT_EQ(group.view.started(r), 0);
  }
}

// A process that joins reads where things lie.
TEST(ProcessGroup, MemoryWhosePartsDoNotFitIsNoGroups) {
  const auto refused = [](const std::function<void(ProcessHeader&)>& change) {
    const os::SharedMemory memory = ProcessGroup::create_memory(1, small());
    change(*GroupLayout::header_at(memory.data()));
    EXPECT_THROW(ProcessGroup::join(fcntl(memory.descriptor(), F_DUPFD_CLOEXEC, 3), 0), ArgumentError);
  };
  refused([](ProcessHeader& header) { header.magic = 0; });
  refused([](ProcessHeader& header) { header.ranks = max_ranks + 1; });
  refused([](ProcessHeader& header) { header.region_bytes = std::size_t{1} << 40; });
  refused([](ProcessHeader& header) { header.region_bytes = UINT64_MAX - 4095; });
  refused([](ProcessHeader& header) { header.heap_bytes = std::size_t{1} << 40; });
  refused([](ProcessHeader& header) { header.tuning_bytes = UINT64_MAX; });
}

}  // namespace
}  // namespace phicoll
