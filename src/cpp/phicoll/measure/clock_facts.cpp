#include "phicoll/measure/clock_facts.hpp"

#include <algorithm>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/clock_offset.hpp"
#include "phicoll/os/cpu_set.hpp"

namespace phicoll {
namespace measure {

namespace {

// The largest offset of the other CPUs' counters from the first one's; of more than 64 CPUs, a sample. 0
// where threads cannot be started or pinned.
double largest_offset_ns(const std::vector<int>& cpus) {
  const std::size_t step = cpus.size() > 64 ? cpus.size() / 64 : 1;
  std::vector<int> compared{cpus[0]};
  for (std::size_t i = step; i < cpus.size(); i += step) compared.push_back(cpus[i]);
  try {
    return os::largest_clock_offset_ns(compared);
  } catch (const ResourceError&) {
    return 0;
  }
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
  facts.offset_ns = largest_offset_ns(os::allowed_cpus());
  const bool cycles = clock.invariant && facts.offset_ns < 1000;
  facts.clock.cycle_counter = cycles ? 1 : 0;
  facts.clock.ns_per_tick = cycles ? clock.ns_per_cycle : 1;
  facts.resolution_ns = usual_step_ns(facts.clock);
  facts.overhead_ns = cycles ? clock.overhead_ns : clock.monotonic_overhead_ns;
  return facts;
}

}  // namespace measure
}  // namespace phicoll
