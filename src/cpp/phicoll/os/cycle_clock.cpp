#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "phicoll/arch/arch.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/text_file.hpp"

namespace phicoll {
namespace os {

namespace {

struct Moment {
  std::uint64_t cycles;
  std::int64_t ns;
};

// Reads both clocks at one moment: of many tries the one whose two reads of the counter lie closest together,
// so that a preemption between them cannot spoil the calibration.
Moment read_both() {
  Moment best{0, 0};
  std::uint64_t narrowest = ~std::uint64_t{0};
  for (int i = 0; i < 64; ++i) {
    const std::uint64_t before = arch::cycles();
    const std::int64_t ns = now_ns();
    const std::uint64_t after = arch::cycles();
    if (after - before < narrowest) {
      narrowest = after - before;
      best = Moment{before + (after - before) / 2, ns};
    }
  }
  return best;
}

// The smallest step between two reads and the mean time of a read, in the clock's own units; the best of
// several batches, since a preemption can only make them longer.
template <class Read>
void measure_reads(Read read, double* resolution, double* overhead) {
  constexpr int batches = 20;
  constexpr int reads = 500;
  *resolution = *overhead = 1e30;
  for (int b = 0; b < batches; ++b) {
    const auto first = read();
    auto last = first;
    for (int i = 0; i < reads; ++i) {
      const auto next = read();
      if (next > last) *resolution = std::min(*resolution, static_cast<double>(next - last));
      last = next;
    }
    if (last > first) *overhead = std::min(*overhead, static_cast<double>(last - first) / reads);
  }
}

}  // namespace

bool cycle_counter_invariant(const char* cpuinfo) {
#if defined(__aarch64__)
  (void)cpuinfo;
  return true;  // the generic timer runs at a fixed rate by the architecture
#else
  const auto has_flag = [cpuinfo](const char* flag) {
    const std::size_t length = std::strlen(flag);
    for (const char* at = std::strstr(cpuinfo, flag); at != nullptr; at = std::strstr(at + 1, flag)) {
      const bool starts = at == cpuinfo || std::strchr(" \t\n", at[-1]) != nullptr;
      if (starts && std::strchr(" \t\n", at[length]) != nullptr)
        return true;  // strchr finds the final 0 as well
    }
    return false;
  };
  return has_flag("constant_tsc") && has_flag("nonstop_tsc");
#endif
}

CycleClock calibrate_cycle_clock(std::int64_t window_ns) {
  CycleClock clock;
  const Moment start = read_both();
  measure_reads([] { return arch::cycles(); }, &clock.resolution_ns, &clock.overhead_ns);
  measure_reads([] { return now_ns(); }, &clock.monotonic_resolution_ns, &clock.monotonic_overhead_ns);
  while (now_ns() - start.ns < window_ns) {
  }
  const Moment end = read_both();
  clock.ns_per_cycle =
      static_cast<double>(end.ns - start.ns) / static_cast<double>(end.cycles - start.cycles);
  clock.resolution_ns *= clock.ns_per_cycle;
  clock.overhead_ns *= clock.ns_per_cycle;
  clock.invariant = cycle_counter_invariant(read_trimmed("/proc/cpuinfo").c_str());
  return clock;
}

bool cycle_counter_is_clock() {
#if defined(PHICOLL_ARCH_K1OM)
  return true;
#else
  static const bool is_clock = cycle_counter_invariant(read_trimmed("/proc/cpuinfo").c_str());
  return is_clock;
#endif
}

double ns_per_tick() {
  return cycle_counter_is_clock() ? cycle_clock().ns_per_cycle : 1.0;
}

const CycleClock& cycle_clock() {
  static const CycleClock clock = calibrate_cycle_clock(20000000);
  return clock;
}

}  // namespace os
}  // namespace phicoll
