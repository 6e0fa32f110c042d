// What arch.hpp promises on the machine the tests run on: whole lines and nothing beside them, flags after
// their data, a fence that fences, a counter that counts.

#include "phicoll/arch/arch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace arch = phicoll::arch;
using Clock = std::chrono::steady_clock;
using StoreLine = void (*)(void*, const void*);

constexpr std::size_t line_bytes = arch::line_bytes;
constexpr int words = static_cast<int>(line_bytes / sizeof(std::uint64_t));

/// Every wait of this file ends here at the latest; on a sound machine none comes near.
Clock::time_point deadline() {
  return Clock::now() + std::chrono::seconds(120);
}

/// Spins politely until `done` or the deadline; false at the deadline.
template <class Done>
bool spin_until(Clock::time_point limit, Done done) {
  for (unsigned turn = 1; !done(); ++turn) {
    arch::pause();
    if (turn % 256 == 0) {
      std::this_thread::yield();
      if (Clock::now() > limit) return false;
    }
  }
  return true;
}

struct alignas(line_bytes) Line {
  std::uint64_t word[words];
};

struct Store {
  const char* name;
  StoreLine store;
};

void store_unordered_then_order(void* line, const void* source) {
  arch::store_line_no_read_unordered(line, source);
  arch::order_no_read_stores();
}

const Store every_store[] = {{"plain", arch::store_line_plain},
                             {"no_read", arch::store_line_no_read},
                             {"no_read_unordered", store_unordered_then_order}};
const Store ordered_stores[] = {{"plain", arch::store_line_plain}, {"no_read", arch::store_line_no_read}};

TEST(Arch, NamesTheMachineItWasCompiledFor) {
#if defined(__x86_64__)
  EXPECT_EQ(std::string(arch::name()), "x86_64");
  EXPECT_TRUE(arch::has_no_read_stores());
#elif defined(__aarch64__)
  EXPECT_EQ(std::string(arch::name()), "aarch64");
  EXPECT_FALSE(arch::has_no_read_stores());
#endif
  static_assert(arch::stride_bytes % arch::line_bytes == 0, "a stride is whole lines");
}

TEST(Arch, LineStoresWriteTheirLineAndNothingElse) {
  for (const Store& each : every_store) {
    Line lines[3];
    std::memset(lines, 0xa5, sizeof lines);
    unsigned char source[line_bytes];
    for (std::size_t i = 0; i < line_bytes; ++i) source[i] = static_cast<unsigned char>(i + 1);
    each.store(&lines[1], source);
    EXPECT_EQ(std::memcmp(&lines[1], source, line_bytes), 0) << each.name;
    Line untouched;
    std::memset(&untouched, 0xa5, sizeof untouched);
    EXPECT_EQ(std::memcmp(&lines[0], &untouched, line_bytes), 0) << each.name;
    EXPECT_EQ(std::memcmp(&lines[2], &untouched, line_bytes), 0) << each.name;
  }
}

TEST(Arch, LineStoresTakeASourceOfAnyAlignment) {
  for (const Store& each : every_store) {
    alignas(line_bytes) unsigned char bytes[2 * line_bytes];
    for (std::size_t i = 0; i < sizeof bytes; ++i) bytes[i] = static_cast<unsigned char>(3 * i);
    for (std::size_t offset = 0; offset < line_bytes; ++offset) {
      Line line;
      std::memset(&line, 0, sizeof line);
      each.store(&line, bytes + offset);
      ASSERT_EQ(std::memcmp(&line, bytes + offset, line_bytes), 0) << each.name << ", offset " << offset;
    }
  }
}

// Two lines, used in turn: the writer comes back to a line only after the reader has acknowledged the episode
// between.
TEST(Arch, AReaderOfTheFlagOfALineStoreSeesTheWholeLine) {
  for (const Store& each : ordered_stores) {
    constexpr std::uint64_t episodes = 20000;
    static Line lines[2];
    alignas(arch::stride_bytes) static std::atomic<std::uint64_t> heard;
    alignas(
        arch::stride_bytes) static std::uint64_t earlier[2];  // an ordinary store in front of the line store
    std::memset(lines, 0, sizeof lines);
    heard.store(0, std::memory_order_relaxed);
    const Clock::time_point limit = deadline();
    std::atomic<bool> in_time{true};
    std::thread writer([&] {
      for (std::uint64_t episode = 1; episode <= episodes; ++episode) {
        Line source;
        source.word[0] = episode;
        for (unsigned i = 1; i < words; ++i) source.word[i] = episode * 31 + i;
        earlier[episode % 2] = episode;
        each.store(&lines[episode % 2], &source);
        if (!spin_until(limit, [&] { return heard.load(std::memory_order_acquire) + 1 >= episode; })) {
          in_time = false;
          return;
        }
      }
    });
    std::uint64_t torn = 0, stale = 0;
    for (std::uint64_t episode = 1; episode <= episodes; ++episode) {
      const Line& line = lines[episode % 2];
      if (!spin_until(limit, [&] { return __atomic_load_n(&line.word[0], __ATOMIC_ACQUIRE) == episode; })) {
        in_time = false;
        break;
      }
      for (unsigned i = 1; i < words; ++i) {
        torn += __atomic_load_n(&line.word[i], __ATOMIC_RELAXED) != episode * 31 + i;
      }
      stale += earlier[episode % 2] != episode;
      heard.store(episode, std::memory_order_release);
    }
    writer.join();
    EXPECT_TRUE(in_time) << each.name << ": not done in 120 s";
    EXPECT_EQ(torn, 0u) << each.name;
    EXPECT_EQ(stale, 0u) << each.name;
  }
}

TEST(Arch, UnorderedLineStoresArriveBeforeAFlagBehindTheirFence) {
  constexpr std::uint64_t episodes = 5000;
  constexpr int count = 16;
  static Line lines[2][count];
  alignas(arch::stride_bytes) static std::atomic<std::uint64_t> told, heard;
  const Clock::time_point limit = deadline();
  std::atomic<bool> in_time{true};
  std::thread writer([&] {
    for (std::uint64_t episode = 1; episode <= episodes; ++episode) {
      Line source;
      for (unsigned i = 0; i < words; ++i) source.word[i] = episode + i;
      for (Line& line : lines[episode % 2]) arch::store_line_no_read_unordered(&line, &source);
      arch::order_no_read_stores();
      told.store(episode, std::memory_order_release);
      if (!spin_until(limit, [&] { return heard.load(std::memory_order_acquire) + 1 >= episode; })) {
        in_time = false;
        return;
      }
    }
  });
  std::uint64_t missing = 0;
  for (std::uint64_t episode = 1; episode <= episodes; ++episode) {
    if (!spin_until(limit, [&] { return told.load(std::memory_order_acquire) >= episode; })) {
      in_time = false;
      break;
    }
    for (const Line& line : lines[episode % 2]) {
      for (unsigned i = 0; i < words; ++i) {
        missing += __atomic_load_n(&line.word[i], __ATOMIC_RELAXED) != episode + i;
      }
    }
    heard.store(episode, std::memory_order_release);
  }
  writer.join();
  EXPECT_TRUE(in_time) << "not done in 120 s";
  EXPECT_EQ(missing, 0u);
}

// Each of two threads stores its word, fences, and reads the other's: both reading zero is what a fence
// forbids.
TEST(Arch, AFullFenceKeepsALoadBehindAStore) {
  constexpr std::size_t rounds = 20000;
  struct alignas(arch::stride_bytes) Side {
    std::atomic<std::uint64_t> at{0};
    std::atomic<int> word{0};
  };
  static Side sides[2];
  std::vector<int> seen[2] = {std::vector<int>(rounds, -1), std::vector<int>(rounds, -1)};
  const Clock::time_point limit = deadline();
  std::atomic<bool> in_time{true};
  auto run = [&](int me) {
    Side& mine = sides[me];
    Side& other = sides[1 - me];
    const auto meet = [&](std::uint64_t point) {
      mine.at.store(point, std::memory_order_release);
      return spin_until(limit, [&] { return other.at.load(std::memory_order_acquire) >= point; });
    };
    for (std::uint64_t round = 0; round < rounds; ++round) {
      mine.word.store(0, std::memory_order_relaxed);
      if (!meet(2 * round + 1)) return void(in_time = false);
      mine.word.store(1, std::memory_order_relaxed);
      arch::full_fence();
      seen[me][round] = other.word.load(std::memory_order_relaxed);
      if (!meet(2 * round + 2)) return void(in_time = false);
    }
  };
  std::thread second(run, 1);
  run(0);
  second.join();
  ASSERT_TRUE(in_time) << "not done in 120 s";
  for (std::size_t round = 0; round < rounds; ++round) {
    ASSERT_FALSE(seen[0][round] == 0 && seen[1][round] == 0) << "round " << round;
  }
}

TEST(Arch, TheCounterNeverGoesBackOnOneThreadAndMovesOn) {
  const std::uint64_t first = arch::cycles();
  std::uint64_t last = first;
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t now = arch::cycles();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_TRUE(spin_until(deadline(), [&] { return arch::cycles() > first; }));
}

TEST(Arch, DelayWaitsAndReturns) {
  arch::delay(0);
  arch::delay(1);
  const std::uint64_t start = arch::cycles();
  arch::delay(5000);
  const std::uint64_t waited = arch::cycles() - start;
#if defined(__x86_64__)
  EXPECT_GE(waited, 5000u);
#else
  (void)waited;  // elsewhere the counter has another unit
#endif
}

TEST(Arch, CacheControlChangesNoData) {
  Line line;
  for (unsigned i = 0; i < words; ++i) line.word[i] = i * 7;
  arch::evict_line(&line);
  arch::prefetch_line(&line);
  arch::full_fence();
  for (unsigned i = 0; i < words; ++i) EXPECT_EQ(line.word[i], i * 7);
}

TEST(Arch, PrefetchTakesAnyAddress) {
  arch::prefetch_line(nullptr);
  arch::prefetch_line(reinterpret_cast<const void*>(~std::uintptr_t{63}));
}

}  // namespace
