#pragma once

// Time stamps for measurements: the cycle counter where it is one clock for all CPUs, CLOCK_MONOTONIC
// otherwise.

#include <cstdint>

#include "phicoll/arch/arch.hpp"
#include "phicoll/os/clock.hpp"

namespace phicoll {
namespace measure {

/// Ticks, and how long one is. The same in all ranks of a run: they get it from the coordinator.
struct StampClock {
  std::uint32_t cycle_counter;  ///< else nanoseconds of CLOCK_MONOTONIC
  double ns_per_tick;

  /// Before an operation: what comes later in the program cannot become visible before the stamp is taken.
  std::uint64_t before() const {
    return cycle_counter != 0 ? arch::cycles() : static_cast<std::uint64_t>(os::now_ns());
  }
  /// After an operation: every earlier load has its value. RDTSC alone may run ahead of the last look at a
  /// flag when that look's branch was predicted, which would make late arrivers' exits look early; LFENCE
  /// holds it back.
  std::uint64_t after() const {
#if defined(__x86_64__) && !defined(__KNC__) && !defined(__k1om__) && !defined(__MIC__) && \
    !defined(PHICOLL_ARCH_K1OM)
    if (cycle_counter != 0) {
      __asm__ __volatile__("lfence" : : : "memory");
      return arch::cycles();
    }
#endif
    return before();
  }
  double to_ns(std::uint64_t ticks) const {
    return static_cast<double>(ticks) * ns_per_tick;
  }
  std::uint64_t to_ticks(double ns) const {
    return static_cast<std::uint64_t>(ns / ns_per_tick + 0.5);
  }
};

}  // namespace measure
}  // namespace phicoll
