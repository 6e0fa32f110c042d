#include "phicoll/measure/clock_facts.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "phicoll/errors.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"

namespace phicoll {
namespace measure {

namespace {

// How far the counter of `cpu_b` is from that of `cpu_a`, by Cristian's method: the partner's reading is
// compared with the midpoint between question and answer. Of many exchanges, the one with the shortest round
// trip counts; half of that round trip bounds the error.
double offset_ns(int cpu_a, int cpu_b, double ns_per_tick) {
  constexpr int exchanges = 400;
  std::atomic<int> question{0};
  std::atomic<int> answer{0};
  std::atomic<bool> pinned{true};
  std::uint64_t theirs = 0;
  std::thread partner([&] {
    try {
      os::pin_this_thread(cpu_b);
    } catch (const ResourceError&) {
      pinned.store(false);
    }
    for (int i = 1; i <= exchanges; ++i) {
      while (question.load(std::memory_order_acquire) != i) {
      }
      theirs = arch::cycles();
      answer.store(i, std::memory_order_release);
    }
  });
  double best = 0;
  std::uint64_t shortest = ~std::uint64_t{0};
  std::thread asker([&] {
    try {
      os::pin_this_thread(cpu_a);
    } catch (const ResourceError&) {
      pinned.store(false);
    }
    for (int i = 1; i <= exchanges; ++i) {
      const std::uint64_t start = arch::cycles();
      question.store(i, std::memory_order_release);
      while (answer.load(std::memory_order_acquire) != i) {
      }
      const std::uint64_t end = arch::cycles();
      if (end - start >= shortest) continue;
      shortest = end - start;
      const double middle = 0.5 * static_cast<double>(end - start);
      best = (static_cast<double>(static_cast<std::int64_t>(theirs - start)) - middle) * ns_per_tick;
    }
  });
  asker.join();
  partner.join();
  return pinned.load() ? std::fabs(best) : 0;
}

// The clock's resolution: the median step between two readings that differ. The smallest step would be too
// optimistic: where a virtual machine scales a counter that advances 26 cycles at a time (10 ns on Zen),
// steps of 1 show up now and then.
double usual_step_ns(const StampClock& clock) {
  std::vector<std::uint64_t> steps;
  std::uint64_t last = clock.before();
  while (steps.size() < 4001) {
    const std::uint64_t now = clock.before();
    if (now > last) steps.push_back(now - last);
    last = now;
  }
  std::nth_element(steps.begin(), steps.begin() + 2000, steps.end());
  return clock.to_ns(steps[2000]);
}

}  // namespace

ClockFacts measure_clock() {
  const os::CycleClock clock = os::calibrate_cycle_clock(50 * 1000 * 1000);
  ClockFacts facts;
  facts.invariant = clock.invariant;
  const std::vector<int> cpus = os::allowed_cpus();
  // Each CPU against the first one; of more than 64 CPUs, a sample.
  const std::size_t step = cpus.size() > 64 ? cpus.size() / 64 : 1;
  for (std::size_t i = step; i < cpus.size(); i += step)
    facts.offset_ns = std::fmax(facts.offset_ns, offset_ns(cpus[0], cpus[i], clock.ns_per_cycle));
  const bool cycles = clock.invariant && facts.offset_ns < 1000;
  facts.clock.cycle_counter = cycles ? 1 : 0;
  facts.clock.ns_per_tick = cycles ? clock.ns_per_cycle : 1;
  facts.resolution_ns = usual_step_ns(facts.clock);
  facts.overhead_ns = cycles ? clock.overhead_ns : clock.monotonic_overhead_ns;
  return facts;
}

}  // namespace measure
}  // namespace phicoll
