// Waits of threads in programs that do not know of phicoll: preload/sleeping.hpp.

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "phicoll/arch/arch.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/shared_memory.hpp"
#include "phicoll/preload/sleeping.hpp"

namespace phicoll_preload {
namespace {

constexpr std::int64_t ms = 1000 * 1000;

/// Its own waits alone: yields are no voluntary switches.
long switches() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_nvcsw;
}

struct Awaited {
  std::atomic<int>* word;
  int value;
};

bool reached(const void* awaited) {
  const auto* const a = static_cast<const Awaited*>(awaited);
  return a->word->load(std::memory_order_acquire) >= a->value;
}

// Each thread that is woken looks for others to wake. Were those counted that are awake already but have not
// run yet, it would wake whoever sleeps in the next round, about once a round.
TEST(Sleeper, SleepsOnceARound) {
  constexpr int threads = 8, rounds = 300;
  const phicoll::os::SharedMemory memory =
      phicoll::os::SharedMemory::create("waits", sizeof(phicoll::Control));
  auto* const control = static_cast<phicoll::Control*>(memory.data());
  control->configure(threads, false, 1, 0);
  const std::int64_t now = phicoll::os::now_ns();
  for (int i = 0; i < 3; ++i) sleepers_yields.note(DearYields::Way::yields, now - 10000 * ms, now);
  Bedroom bedroom(*control, threads);
  std::atomic<int> round{0}, arrived{0};
  std::atomic<long> slept{0};
  std::vector<std::thread> all;
  for (int rank = 1; rank < threads; ++rank)
    all.emplace_back([&, rank] {
      Sleeper sleeper(bedroom, rank);
      const long before = switches();
      for (int i = 1; i <= rounds; ++i) {
        const Awaited awaited{&round, i};
        arrived.fetch_add(1);
        sleeper.wait(reached, &awaited);
        sleeper.wake_others();
      }
      slept += switches() - before;
    });
  Sleeper waker(bedroom, 0);
  for (int i = 1; i <= rounds; ++i) {
    while (arrived.load() < i * (threads - 1)) usleep(50);
    usleep(300);  // they sleep
    round.store(i, std::memory_order_release);
    waker.wake_others();
  }
  for (std::thread& one : all) one.join();
  sleepers_yields.forget();
  EXPECT_GT(slept.load(), 0.5 * (threads - 1) * rounds);
  EXPECT_LT(slept.load(), 1.3 * (threads - 1) * rounds);
}

// Beside a program that computes on its CPU, a thread that waits for some ms keeps that CPU. Were it to yield
// or to nap, the program would have a turn of its own at every wait.
TEST(Yielder, LooksBeforeItNapsWhereNoOtherThreadIsSeen) {
  const phicoll::os::SharedMemory memory =
      phicoll::os::SharedMemory::create("waits", sizeof(phicoll::Control));
  auto* const control = static_cast<phicoll::Control*>(memory.data());
  control->configure(2, false, 2, 0);
  Bedroom bedroom(*control, 2);
  const std::vector<int> one_cpu{phicoll::os::current_cpu()};
  std::atomic<bool> end{false};
  long short_waits = 0, long_wait = 0;
  std::thread waits([&] {
    phicoll::os::move_to_cpus(one_cpu);
    Yielder yielder(bedroom, 0);
    const auto wait = [&](std::int64_t wait_ns) {
      const long before = switches();
      yielder.begin();
      const std::int64_t until = phicoll::os::now_ns() + wait_ns;
      while (phicoll::os::now_ns() < until) yielder.go_on();
      return switches() - before;
    };
    wait(2 * ms);  // after the waits of other tests
    const std::int64_t learnt = phicoll::os::now_ns() + 300 * ms;
    while (phicoll::os::now_ns() < learnt) short_waits += wait(2 * ms);
    long_wait = wait(50 * ms);
    end = true;
  });
  std::thread computes([&] {
    phicoll::os::move_to_cpus(one_cpu);
    while (!end.load(std::memory_order_relaxed)) phicoll::arch::pause();
  });
  waits.join();
  computes.join();
  EXPECT_EQ(short_waits, 0);
  EXPECT_GT(long_wait, 0);
}

// Threads that look would take CPUs from those of another team.
TEST(Yielder, NapsSoonerWhereAnotherTeamWaits) {
  const phicoll::os::SharedMemory memory =
      phicoll::os::SharedMemory::create("waits", 2 * sizeof(phicoll::Control));
  auto* const controls = static_cast<phicoll::Control*>(memory.data());
  for (int team = 0; team < 2; ++team) controls[team].configure(2, false, 0, 0);
  Bedroom one(controls[0], 2), other(controls[1], 2);
  Yielder mine(one, 0), others(other, 0);
  const auto wait_7_ms = [](Yielder& yielder) {
    const long before = switches();
    yielder.begin();
    const std::int64_t until = phicoll::os::now_ns() + 7 * ms;
    while (phicoll::os::now_ns() < until) yielder.go_on();
    return switches() - before;
  };
  wait_7_ms(mine);  // after the waits of other tests
  EXPECT_EQ(wait_7_ms(mine), 0);
  const std::int64_t give_up = phicoll::os::now_ns() + 5000 * ms;
  long naps = 0, others_naps = 0;  // a wait that a yield makes longer has none
  while ((naps == 0 || others_naps == 0) && phicoll::os::now_ns() < give_up) {
    others_naps += wait_7_ms(others);
    naps += wait_7_ms(mine);
  }
  EXPECT_GT(others_naps, 0);
  EXPECT_GT(naps, 0);
  EXPECT_EQ(wait_7_ms(mine), 0);
}

}  // namespace
}  // namespace phicoll_preload
