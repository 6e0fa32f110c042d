// Falling asleep while the signal is on its way: the race between a sleeper's mark and a signaller's store
// that is still in its store buffer. The signaller dirties 32 lines of the other rank before each signal, so
// that the store stays there for long; the sleeper sleeps without looking first.
//
// A wake is lost when the signaller's call has returned, nobody has touched the slot's sequence, and the
// sleeper really slept (it gave its CPU away) until the bound of its sleep. So the count does not depend on
// the machine's speed.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "phicoll/group/thread_group.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/fallbacks.hpp"
#include "phicoll/os/futex.hpp"
#include "phicoll/os/membarrier.hpp"
#include "phicoll/ports/native_port.hpp"

namespace phicoll {

namespace {

constexpr std::int64_t bound_ns = 10 * 1000 * 1000;
constexpr std::int64_t second_ns = 1000 * 1000 * 1000;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

/// Half a second, where nothing counts lost wakes or a sanitizer looks at each access; PHICOLL_TEST_LONG=1:
/// `most_s` seconds.
std::int64_t run_ns(bool counts, std::int64_t most_s) {
  return counts || std::getenv("PHICOLL_TEST_LONG") != nullptr ? most_s * second_ns : second_ns / 2;
}
constexpr int dirty_lines = 32;

struct Shared {
  Control control;
  Strided<Word<std::uint64_t>> flag;   // the round that was signalled
  Strided<Word<std::uint64_t>> ready;  // the round that the sleeper is about to sleep for
  Strided<Word<std::uint64_t>> done;   // when the signaller's call for the round had returned, in ns
  // The mean delay before a signal, in pauses. The sleeper sets it so that every other round the signal comes
  // while it falls asleep.
  Strided<Word<std::uint64_t>> delay;
  Strided<Word<std::uint64_t>> dirt[dirty_lines];
};

/// parking::sleep() as it would be without its membarrier: the order of the mark and the look is the
/// sleeper's own business only.
bool sleep_without_membarrier(Control& control, const Word<std::uint64_t>& word, std::uint64_t value) {
  const std::uint64_t line = control.line_of(&word);
  ParkingSlot& slot = control.slot_of(line);
  control.parked().atomic().fetch_add(1, std::memory_order_seq_cst);
  slot.add_sleeper(line);
  const std::uint32_t sequence = slot.sequence.atomic().load(std::memory_order_acquire);
  bool holds = word.atomic().load(std::memory_order_acquire) >= value;
  if (!holds) {
    os::futex_wait(&slot.sequence.atomic(), sequence, bound_ns, false);
    holds = word.atomic().load(std::memory_order_acquire) >= value;
  }
  slot.remove_sleeper();
  control.parked().atomic().fetch_sub(1, std::memory_order_release);
  return holds;
}

long times_slept() {
  struct rusage usage;
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

struct Outcome {
  long rounds = 0;
  long sleeps = 0;
  long lost = 0;
};

template <class Sleep>
Outcome race(std::int64_t lasts_ns, Sleep sleep) {
  os::register_membarrier();
  std::vector<unsigned char> room(sizeof(Shared) + arch::stride_bytes);
  auto place = reinterpret_cast<std::uintptr_t>(room.data());
  place = (place + arch::stride_bytes - 1) / arch::stride_bytes * arch::stride_bytes;
  auto& shared = *reinterpret_cast<Shared*>(place);  // zeroed, as a group's memory is
  shared.control.configure(2, false, 0, 0);
  const std::vector<int> cpus = os::allowed_cpus();

  std::atomic<bool> over{false};
  Outcome outcome;
  std::thread signaller([&] {
    if (cpus.size() > 1) os::pin_this_thread(cpus[1]);
    const NativePort port(shared.control, 1, WaitPolicy{});
    std::uint64_t random = 88172645463325252ull;
    for (std::uint64_t round = 1;; ++round) {
      for (int looks = 0; shared.ready.value.atomic().load(std::memory_order_acquire) < round; ++looks) {
        if (over.load(std::memory_order_acquire)) return;
        if (looks > 2000) std::this_thread::yield();
      }
      random ^= random << 13;
      random ^= random >> 7;
      random ^= random << 17;
      for (std::uint64_t turn =
               random % (2 * shared.delay.value.atomic().load(std::memory_order_relaxed) + 1);
           turn > 0; --turn)
        arch::pause();
      for (auto& line : shared.dirt) port.store_relaxed(line.value, round);
      port.signal(shared.flag.value, round);
      port.store_release(shared.done.value, static_cast<std::uint64_t>(os::now_ns()));
    }
  });
  std::thread sleeper([&] {
    if (cpus.size() > 1) os::pin_this_thread(cpus[0]);
    const NativePort port(shared.control, 0, WaitPolicy{});
    Roaming roaming(shared.control, 0, WaitPolicy{});
    const ParkingSlot& slot = shared.control.slot_of(shared.control.line_of(&shared.flag.value));
    std::uint64_t delay = 32;
    const std::int64_t start = os::now_ns();
    for (std::uint64_t round = 1; os::now_ns() - start < lasts_ns; ++round) {
      for (auto& line : shared.dirt) port.store_relaxed(line.value, round);
      port.store_release(shared.ready.value, round);
      bool slept_this_round = false;
      for (bool holds = false; !holds;) {
        const std::uint32_t sequence = slot.sequence.atomic().load(std::memory_order_acquire);
        const long before = times_slept();
        const std::int64_t asleep_ns = os::now_ns();
        holds = sleep(roaming, shared, round);
        const std::int64_t awake_ns = os::now_ns();
        const bool slept = times_slept() != before;
        const bool touched = slot.sequence.atomic().load(std::memory_order_acquire) != sequence;
        outcome.sleeps += slept ? 1 : 0;
        slept_this_round = slept_this_round || slept;
        if (!holds || !slept || touched || awake_ns - asleep_ns < bound_ns) continue;
        // The signal was complete for long, and this rank slept on.
        const auto done_ns =
            static_cast<std::int64_t>(shared.done.value.atomic().load(std::memory_order_acquire));
        if (done_ns > asleep_ns && awake_ns - done_ns > bound_ns / 2) ++outcome.lost;
      }
      ++outcome.rounds;
      if (!slept_this_round && delay < 4096) ++delay;
      if (slept_this_round && delay > 0) --delay;
      port.store_relaxed(shared.delay.value, delay);
    }
    over.store(true, std::memory_order_release);
  });
  sleeper.join();
  signaller.join();
  return outcome;
}

void report(const char* what, const Outcome& outcome) {
  std::printf("%s: %ld rounds, %ld sleeps, %ld late wakes\n", what, outcome.rounds, outcome.sleeps,
              outcome.lost);
}

TEST(Parking, NoWakeIsLostWithAMembarrier) {
  const bool counts = os::membarrier_available();
  const Outcome outcome =
      race(run_ns(counts && !sanitized, 4), [](Roaming& roaming, Shared& shared, std::uint64_t round) {
        std::uint64_t seen = 0;
        return parking::sleep(shared.control,
                              Awaited::word(shared.flag.value, at_least(round), any_rank, Meanwhile::little),
                              roaming, 0, &seen);
      });
  report("as built", outcome);
  EXPECT_GT(outcome.rounds, 0);
  if (counts) {
    EXPECT_EQ(outcome.lost, 0);
  }
}

// Every round ends all the same: the bound of the sleep ends it. How many come late is for the reader.
TEST(Parking, WithoutItTheBoundOfASleepEndsIt) {
  const Outcome outcome = race(run_ns(false, 3), [](Roaming&, Shared& shared, std::uint64_t round) {
    return sleep_without_membarrier(shared.control, shared.flag.value, round);
  });
  report("without membarrier", outcome);
  EXPECT_GT(outcome.rounds, 0);
}

// The root of the broadcast before the barrier sleeps on the counter of those that have come. Without a wake
// it would go on after the bound of its sleep, so within a fifth of it in one round out of five. Only rounds
// in which the root slept count. On a busy machine it needs longer to fall asleep, so rank 1 stays away
// longer after each round in which it did not; and a woken root may come late, so there are further rounds
// until half of them were soon.
TEST(Parking, TheLastThatComesWakesTheRootThatReleasesABarrier) {
  constexpr int rounds = 40;
  constexpr std::int64_t over = 0;
  std::atomic<std::int64_t> came_ns{0};
  int soon = 0;
  int slept = 0;
  ThreadGroup(3, GroupOptions()).run([&](Communicator& all) {
    all.select(Operation::barrier, "sense-reversing:releases=root");
    std::int64_t away_us = 15000;
    const std::int64_t end_ns = os::now_ns() + 60 * second_ns;
    while (away_us != over) {
      const auto enough = [&] { return slept >= rounds && 2 * soon >= slept; };
      if (all.rank() == 0 && (enough() || os::now_ns() > end_ns)) away_us = over;
      all.broadcast(&away_us, sizeof away_us, 0);
      // Away for as long as a root needs to fall asleep, and for a part of its sleep that differs from round
      // to round.
      if (all.rank() == 1) {
        std::this_thread::sleep_for(std::chrono::microseconds(away_us));
        came_ns.store(os::now_ns(), std::memory_order_relaxed);  // the barrier passes it on
      }
      const long before = times_slept();
      all.barrier();
      if (all.rank() != 0 || away_us == over) continue;
      const bool counts = times_slept() != before;
      slept += counts;
      soon += counts && os::now_ns() - came_ns.load(std::memory_order_relaxed) < bound_ns / 5;
      away_us += counts ? 250 : 1000;
    }
  });
  std::printf("%d of %d wakes within %d ms\n", soon, slept, static_cast<int>(bound_ns / 5000000));
  EXPECT_GE(slept, rounds);
  EXPECT_GE(2 * soon, slept);
}

TEST(ParkingSlot, KnowsTheLineThatAllItsSleepersWaitFor) {
  static ParkingSlot slot;
  EXPECT_FALSE(slot.has_sleeper(0));
  slot.add_sleeper(5);
  slot.add_sleeper(5);
  EXPECT_TRUE(slot.has_sleeper(5));
  EXPECT_FALSE(slot.has_sleeper(69));
  slot.add_sleeper(69);
  EXPECT_TRUE(slot.has_sleeper(69));
  slot.remove_sleeper();
  slot.remove_sleeper();
  EXPECT_TRUE(slot.has_sleeper(5));  // either may be the one that is left
  EXPECT_TRUE(slot.has_sleeper(69));
  slot.remove_sleeper();
  EXPECT_FALSE(slot.has_sleeper(5));
  slot.add_sleeper(69);
  EXPECT_FALSE(slot.has_sleeper(5));
}

TEST(Resting, ARankThatWaitsForLongLeavesItsCpuToOthers) {
  static Control control;
  static Strided<Word<std::uint64_t>> flag;
  control.configure(3, false, 2, 0);
  EXPECT_TRUE(control.crowded());
  EXPECT_TRUE(control.crowded_now());
  std::thread waiter([] { NativePort(control, 0, WaitPolicy{}).wait(flag.value, equal(std::uint64_t{1})); });
  while (control.crowded_now()) std::this_thread::yield();
  EXPECT_TRUE(control.crowded());
  NativePort(control, 1, WaitPolicy{}).signal(flag.value, std::uint64_t{1});
  waiter.join();
  EXPECT_TRUE(control.crowded_now());
}

TEST(NotedCpus, RanksThatRoamAreBesideThoseThatWereLastNotedOnTheirCpu) {
  static Control roaming, roomy;
  roaming.configure(3, false, 2, 0);
  roomy.configure(3, false, 0, 0);
  for (Control* control : {&roaming, &roomy}) {
    EXPECT_FALSE(control->beside(0, 1));
    control->note_cpu(0, 1);
    control->note_cpu(1, 0);
    control->note_cpu(2, 1);
    EXPECT_FALSE(control->beside(0, 1));
  }
  EXPECT_TRUE(roaming.beside(0, 2));
  EXPECT_FALSE(roomy.beside(0, 2)) << "each has a CPU most of the time";
  roaming.note_asleep(2);
  EXPECT_TRUE(roaming.beside(0, 2));
  roaming.note_cpu(2, 0);
  EXPECT_FALSE(roaming.beside(0, 2));
}

TEST(NotedCpus, TheLastRankOfACpuWithTwoMoreThanAnotherHadBetterMove) {
  static Control control;
  control.configure(4, false, 2, 0);
  using Cpus = std::vector<int>;
  for (int r = 0; r < 4; ++r) control.note_cpu(r, 3);
  EXPECT_EQ(control.emptier_cpus(3), Cpus()) << "another program may have the others";
  control.note_cpu(1, 1);
  EXPECT_EQ(control.emptier_cpus(3), Cpus{1});
  EXPECT_EQ(control.emptier_cpus(2), Cpus());
  EXPECT_EQ(control.emptier_cpus(1), Cpus());
  control.note_cpu(2, 1);
  for (int r = 0; r < 4; ++r) EXPECT_EQ(control.emptier_cpus(r), Cpus());
  control.note_asleep(1);
  for (int r = 0; r < 4; ++r) EXPECT_EQ(control.emptier_cpus(r), Cpus());
  control.note_asleep(2);
  EXPECT_EQ(control.emptier_cpus(3), Cpus{1}) << "two against none that is awake";
  control.note_asleep(3);
  control.note_cpu(2, 3);
  EXPECT_EQ(control.emptier_cpus(2), Cpus{1}) << "the last that is awake";
  control.note_cpu(1, 1);
  EXPECT_EQ(control.emptier_cpus(2), Cpus());
  control.note_cpu(1, 7);
  control.note_cpu(3, 3);
  EXPECT_EQ(control.emptier_cpus(3), Cpus{7}) << "the highest";
  control.leave(1, CallHistory());
  EXPECT_EQ(control.emptier_cpus(3), Cpus()) << "who left counts no more";
}

TEST(NotedCpus, TheLastRankOfACpuKnowsWhichOnesToLeave) {
  static Control control;
  control.configure(3, false, 3, 0);
  using Cpus = std::vector<int>;
  EXPECT_EQ(control.cpus_to_leave(2), Cpus()) << "noted nowhere";
  control.note_cpu(0, 3);
  control.note_cpu(2, 3);
  EXPECT_EQ(control.cpus_to_leave(0), Cpus()) << "rank 2 leaves";
  EXPECT_EQ(control.cpus_to_leave(2), (Cpus{3, 3}));
  control.note_cpu(1, 5);
  EXPECT_EQ(control.cpus_to_leave(2), (Cpus{3, 5, 3}));
  control.set_cpu(2, 3);
  EXPECT_EQ(control.cpus_to_leave(2), Cpus()) << "pinned";
  EXPECT_EQ(control.cpus_to_leave(0), (Cpus{3, 5, 3})) << "the last that can leave";
}

TEST(NotedCpus, ARankThatWaitsOftenMovesToTheCpuWithFewerRanks) {
  const std::vector<int> allowed = os::allowed_cpus();
  if (allowed.size() < 2) GTEST_SKIP() << "one CPU";
  static Control control;
  control.configure(5, false, 2, 0);
  std::thread([&] {
    os::pin_this_thread(allowed[0]);
    os::set_thread_cpus(allowed);
    for (int r = 0; r < 3; ++r) control.note_cpu(r, allowed[0]);
    control.note_cpu(3, allowed[1]);
    Roaming roaming(control, 4, WaitPolicy{});
    int moved = 0;
    for (int wait = 0; wait < 4000; ++wait) {  // the system may move it, too
      roaming.spread_out();
      moved += os::current_cpu() == allowed[0] ? 0 : 1;
    }
    EXPECT_GT(moved, 2000);
    EXPECT_EQ(os::allowed_cpus(), allowed);
  }).join();
}

TEST(NotedCpus, ARankLooksInPlaceAgainOnceTheOtherIsElsewhere) {
  const std::vector<int> allowed = os::allowed_cpus();
  static Control control;
  control.configure(3, false, 0, 0);
  std::thread([&] {
    os::pin_this_thread(allowed[0]);
    Roaming roaming(control, 0, WaitPolicy{});
    const unsigned looks = roaming.looks_in_place();
    EXPECT_GT(looks, 0u);
    EXPECT_FALSE(roaming.met_before(1)) << "none was met yet";
    control.note_cpu(1, allowed[0]);
    EXPECT_FALSE(roaming.met_before(1)) << "no wait has found that yet";
    EXPECT_TRUE(roaming.meets(1));
    EXPECT_EQ(roaming.looks_in_place(), 0u);
    EXPECT_TRUE(roaming.met_before(1));
    EXPECT_TRUE(roaming.met_before(any_rank));
    EXPECT_FALSE(roaming.met_before(2)) << "that one is not here";
    EXPECT_EQ(roaming.looks_in_place(), 0u) << "but another is";
    control.note_cpu(1, allowed[0] + 1);
    EXPECT_FALSE(roaming.met_before(1));
    EXPECT_EQ(roaming.looks_in_place(), looks);

    control.note_cpu(1, allowed[0]);
    EXPECT_TRUE(roaming.meets(1));
    int waits = 0;
    while (roaming.met_before(1)) ++waits;
    EXPECT_EQ(waits, 62) << "a note may be old";
    EXPECT_EQ(roaming.looks_in_place(), looks);

    Roaming spins(control, 0, parse_wait_policy("spin"));
    EXPECT_TRUE(spins.meets(1));
    EXPECT_EQ(spins.looks_in_place(), looks) << "as it was told to";
  }).join();
}

TEST(LongWaits, TakeFewTurnsWhereTheyCannotSleep) {
  static Control control;
  control.configure(2, false, 2, 0);
  const NativePort port(control, 0, WaitPolicy{});
  NativePort::Patience patience;
  for (int turn = 0; turn < 8224; ++turn)
    port.take_turn(patience);  // the looks, and the first reading of the clock
  const std::int64_t began = os::now_ns();
  int late_turns = 0;  // each after a nap of at least 50 us, and of a 64th of the wait
  for (std::int64_t waited = 0; waited < 200 * 1000 * 1000; waited = os::now_ns() - began) {
    port.take_turn(patience);
    late_turns += waited > 20 * 1000 * 1000 ? 1 : 0;
  }
  EXPECT_LT(late_turns, 640) << "naps of 300 us and more";
}

/// Other work of a rank: some, which never ends and is said not to move, or none.
class OtherWork final : public Background {
 public:
  explicit OtherWork(bool some) : some_(some) {}
  bool pending() const override { return some_; }
  bool go_on() override {
    ++turns;
    const bool cold = os::now_ns() - last_ns_ > 45 * 1000;
    const std::int64_t end = os::thread_cpu_ns() + (cold ? std::max(takes_ns, takes_cold_ns) : takes_ns);
    while (os::thread_cpu_ns() < end) {
    }
    last_ns_ = os::now_ns();
    return false;
  }
  /// Called at each end of a sleep.
  bool take_in() override {
    ++turns;
    return false;
  }
  std::atomic<int> turns{0};
  std::int64_t takes_ns = 0, takes_cold_ns = 0;  // the latter after a nap

 private:
  bool some_;
  std::int64_t last_ns_ = 0;
};

// A nap or a sleep costs up to 60 us of CPU time on a busy host, so there may be 160 in a second.
TEST(LongWaits, TakeFewTurnsAfterASecond) {
  static Control control;
  static Strided<Word<std::uint64_t>> flag;
  control.configure(3, false, 0, 0);
  OtherWork some(true), none(false);
  std::vector<std::thread> waiters;
  for (OtherWork* const work : {&some, &none})
    waiters.emplace_back([work] {
      NativePort port(control, work->pending() ? 0 : 1, WaitPolicy{});
      port.set_background(work);
      port.wait(flag.value, equal(std::uint64_t{1}));
    });
  std::this_thread::sleep_for(std::chrono::milliseconds(1050));
  const int napped = some.turns, slept = none.turns;
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const int napped_then = some.turns - napped, slept_then = none.turns - slept;
  NativePort(control, 2, WaitPolicy{}).signal(flag.value, std::uint64_t{1});
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_GT(slept, 0);
#if defined(__SANITIZE_THREAD__)  // it multiplies the CPU time of a look, so that other work seems to move
  const int most_looks = 1000;
#else
  const int most_looks = 300;
#endif
  EXPECT_LT(napped_then, most_looks) << "naps of 15 ms and more, with two looks each, and a few short ones";
  EXPECT_LT(slept_then, 40) << "sleeps of 15 ms and more";
}

// Another library may move a large message in pieces, and a nap between two would be longer than either.
TEST(LongWaits, DoNotNapWhileOtherWorkMovesOn) {
  static Control control;
  control.configure(2, false, 0, 0);
  if (os::allowed_cpus().size() < 2) GTEST_SKIP() << "ranks that share a CPU nap";
  NativePort port(control, 0, WaitPolicy{});
  OtherWork work(true);
  port.set_background(&work);
  NativePort::Patience patience;
  const auto naps_in = [&](int turns) {
    const long before = times_slept();
    for (int turn = 0; turn < turns; ++turn) port.take_turn(patience);
    return times_slept() - before;
  };
  const std::int64_t began = os::now_ns();
  while (os::now_ns() - began < second_ns / 2) port.take_turn(patience);
  const long few = sanitized ? 0 : 2;  // looks take CPU time under a sanitizer, so that all seems to move
  EXPECT_GE(naps_in(10), few) << "where nothing moves";
  work.takes_cold_ns = 40 * 1000;
  EXPECT_GE(naps_in(10), 2 * few) << "where looks find cold caches";
  work.takes_ns = 12 * 1000;
  EXPECT_LE(naps_in(20), 4);
  work.takes_ns = 0;
  const std::int64_t moved = os::now_ns();
  EXPECT_GE(naps_in(4), few) << "it no longer moves";
  EXPECT_LT(os::now_ns() - moved, 500 * 1000 * 1000) << "short ones, as more may come";
}

TEST(NotedCpus, RanksMeetWhereAnotherWasLastNoted) {
  static Control control;
  control.configure(3, false, 0, 0);
  EXPECT_FALSE(control.meets(0, any_rank, 0));  // nobody else is noted yet
  EXPECT_FALSE(control.meets(1, 0, 1));
  EXPECT_FALSE(control.meets(1, any_rank, 1));
  EXPECT_TRUE(control.meets(1, 0, 0));
  EXPECT_TRUE(control.meets(0, any_rank, 0));
  EXPECT_FALSE(control.meets(0, 2, 0));
  EXPECT_FALSE(control.meets(1, 0, 5));  // moved away
  EXPECT_FALSE(control.meets(0, any_rank, 0));
  EXPECT_FALSE(control.meets(2, 0, -1));  // where the CPU is not known
  EXPECT_FALSE(control.meets(0, 2, -1));
}

}  // namespace
}  // namespace phicoll
