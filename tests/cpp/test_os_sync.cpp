// Sleeping, waking and barriers between threads and processes, and the clocks.

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "phicoll/arch/arch.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/clock_offset.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/fallbacks.hpp"
#include "phicoll/os/futex.hpp"
#include "phicoll/os/membarrier.hpp"
#include "phicoll/os/text_file.hpp"

namespace os = phicoll::os;

namespace {

constexpr std::int64_t second = 1000000000;

// A word that a forked child shares.
std::atomic<std::uint32_t>* shared_word() {
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return page == MAP_FAILED ? nullptr : new (page) std::atomic<std::uint32_t>(0);
}

// Sleeps until the word is no longer `expected`, however often it is woken for nothing; false after 20 s.
bool wait_for_change(const std::atomic<std::uint32_t>* word, std::uint32_t expected, bool shared) {
  const std::int64_t end = os::now_ns() + 20 * second;
  while (word->load(std::memory_order_acquire) == expected) {
    if (os::now_ns() > end) return false;
    os::futex_wait(word, expected, second, shared);
  }
  return true;
}

TEST(Futex, ReturnsAtOnceWhenTheWordDiffers) {
  std::atomic<std::uint32_t> word{5};
  EXPECT_EQ(os::futex_wait(&word, 4, -1, false), EAGAIN);
  EXPECT_EQ(os::futex_wait(&word, 4, 0, true), EAGAIN);
}

TEST(Futex, TimesOutNotBeforeItsTime) {
  std::atomic<std::uint32_t> word{1};
  const std::int64_t start = os::now_ns();
  EXPECT_EQ(os::futex_wait(&word, 1, 30000000, false), ETIMEDOUT);
  EXPECT_GE(os::now_ns() - start, 30000000);
}

TEST(Futex, TwoThreadsHandAWordToEachOther) {
  std::atomic<std::uint32_t> word{0};
  bool seen = true;
  std::thread other([&] {
    for (std::uint32_t turn = 0; turn < 200; turn += 2) {
      seen = wait_for_change(&word, turn, false) && seen;
      word.store(turn + 2, std::memory_order_release);
      os::futex_wake(&word, INT_MAX, false);
    }
  });
  for (std::uint32_t turn = 0; turn < 200; turn += 2) {
    word.store(turn + 1, std::memory_order_release);
    os::futex_wake(&word, INT_MAX, false);
    EXPECT_TRUE(wait_for_change(&word, turn + 1, false));
  }
  other.join();
  EXPECT_TRUE(seen);
}

TEST(Futex, WakesAnotherProcess) {
  auto* word = shared_word();
  ASSERT_NE(word, nullptr);
  const pid_t child = fork();
  if (child == 0) _exit(wait_for_change(word, 0, true) ? 0 : 1);
  ASSERT_GT(child, 0);
  word->store(1, std::memory_order_release);
  os::futex_wake(word, 1, true);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Futex, WakeCountsTheSleepers) {
  std::atomic<std::uint32_t> word{0};
  EXPECT_EQ(os::futex_wake(&word, INT_MAX, false), 0);
}

TEST(Membarrier, IsAllOrNothing) {
  const bool available = os::register_membarrier();
  EXPECT_EQ(os::membarrier_available(), available);
  EXPECT_EQ(os::membarrier_all(true), available);
  EXPECT_EQ(os::membarrier_all(false), available);
  EXPECT_EQ(os::register_membarrier(), available);
  if (os::fallbacks_forced()) {
    EXPECT_FALSE(available);
  }
}

TEST(Membarrier, WorksInAForkedChild) {
  const bool available = os::register_membarrier();
  const pid_t child = fork();
  if (child == 0)
    _exit(os::membarrier_all(true) == available && os::membarrier_all(false) == available ? 0 : 1);
  ASSERT_GT(child, 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// Dekker's pattern with the fence on the sleeper's side only: "neither saw the other" must not happen. The
// signaller first fills its store buffer with lines that the sleeper's CPU owns, so that its flag leaves late
// while its look at `asleep` is early: with a mere compiler barrier in the place of the membarrier this
// misses hundreds of rounds in 20,000 on two CPUs.
TEST(Membarrier, OrdersTheOtherSidesStoreAndLoad) {
  if (!os::register_membarrier()) GTEST_SKIP() << "no membarrier here";
  constexpr std::uint32_t rounds = 20000;
  constexpr int lines = 32;
  struct alignas(128) Word {
    std::atomic<std::uint32_t> value{0};
  };
  static Word round, done, asleep, flag, saw_asleep, dirty[lines];
  const auto wait_at_least = [](const Word& word, std::uint32_t value) {
    for (int turn = 0; word.value.load(std::memory_order_acquire) < value; ++turn)
      if (turn % 1000 == 999) std::this_thread::yield();
  };
  std::thread signaller([&] {
    for (std::uint32_t r = 1; r <= rounds; ++r) {
      wait_at_least(round, r);
      for (Word& line : dirty) line.value.store(r, std::memory_order_relaxed);
      flag.value.store(r, std::memory_order_release);
      saw_asleep.value.store(asleep.value.load(std::memory_order_relaxed), std::memory_order_relaxed);
      done.value.store(r, std::memory_order_release);
    }
  });
  unsigned missed = 0;
  for (std::uint32_t r = 1; r <= rounds; ++r) {
    for (Word& line : dirty) line.value.fetch_add(1, std::memory_order_relaxed);
    round.value.store(r, std::memory_order_release);
    for (std::uint32_t spin = 0; spin < r % 64 * 8; ++spin)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    asleep.value.store(r, std::memory_order_relaxed);
    os::membarrier_all(r % 2 == 0);
    const bool saw_flag = flag.value.load(std::memory_order_acquire) == r;
    wait_at_least(done, r);
    if (!saw_flag && saw_asleep.value.load(std::memory_order_relaxed) != r) ++missed;
  }
  signaller.join();
  EXPECT_EQ(missed, 0u);
}

TEST(Clock, NeverGoesBack) {
  std::int64_t last = os::now_ns();
  for (int i = 0; i < 10000; ++i) {
    const std::int64_t next = os::now_ns();
    ASSERT_GE(next, last);
    last = next;
  }
}

TEST(Clock, CyclesAgreeWithNanoseconds) {
  const os::CycleClock clock = os::calibrate_cycle_clock(20000000);
  EXPECT_GT(clock.ns_per_cycle, 0.05);  // 20 GHz
  EXPECT_LT(clock.ns_per_cycle, 2000);  // a counter of 0.5 MHz
  EXPECT_GT(clock.overhead_ns, 0);
  EXPECT_GT(clock.resolution_ns, 0);
  EXPECT_GT(clock.monotonic_overhead_ns, 0);
  EXPECT_GT(clock.monotonic_resolution_ns, 0);
  EXPECT_NEAR(clock.to_ns(clock.to_cycles(1e6)), 1e6, 2 * clock.ns_per_cycle);
  if (!clock.invariant) return;
  EXPECT_NEAR(os::cycle_clock().ns_per_cycle / clock.ns_per_cycle, 1.0, 0.01);
}

TEST(Clock, CountersOfTwoCpusAreBoundedByARoundTrip) {
  const std::vector<int> cpus = os::allowed_cpus();
  if (cpus.size() < 2) GTEST_SKIP() << "one CPU";
  const os::ClockOffset offset = os::measure_clock_offset(cpus[0], cpus[1]);
  EXPECT_LE(offset.low_ns, offset.high_ns);
  const os::ClockOffset back = os::measure_clock_offset(cpus[1], cpus[0]);
  // Seen from the other side the true offset has the opposite sign: the intervals must meet (1 us for drift
  // between).
  EXPECT_LE(offset.low_ns, -back.low_ns + 1000);
  EXPECT_GE(offset.high_ns, -back.high_ns - 1000);
  EXPECT_GE(os::largest_clock_offset_ns(cpus), 0);
  EXPECT_EQ(os::largest_clock_offset_ns({cpus[0]}), 0);
  EXPECT_THROW(os::measure_clock_offset(cpus[0], cpus[0]), phicoll::ArgumentError);
  EXPECT_THROW(os::measure_clock_offset(cpus[0], 100000), phicoll::ResourceError);
  EXPECT_THROW(os::measure_clock_offset(100000, cpus[0]), phicoll::ResourceError);
  RecordProperty("low_ns", std::to_string(offset.low_ns));
  RecordProperty("high_ns", std::to_string(offset.high_ns));
}

TEST(Clock, InvarianceIsReadFromWholeFlags) {
#if defined(__x86_64__)
  EXPECT_TRUE(os::cycle_counter_invariant("flags\t\t: fpu constant_tsc rep_good nonstop_tsc\nbugs: x\n"));
  EXPECT_FALSE(os::cycle_counter_invariant("flags\t\t: fpu constant_tsc rep_good\n"));
  EXPECT_FALSE(os::cycle_counter_invariant("flags\t\t: constant_tsc xnonstop_tsc\n"));
  EXPECT_FALSE(os::cycle_counter_invariant("flags\t\t: constant_tsc nonstop_tsc_s3\n"));
  EXPECT_FALSE(os::cycle_counter_invariant(""));
#else
  GTEST_SKIP() << "flags are an x86 matter";
#endif
}

}  // namespace
