#pragma once

// Time stamps for measurements: from the cycle counter if it is one clock for all CPUs, otherwise from
// CLOCK_MONOTONIC.

#include <cstdint>

#include "phicoll/arch/arch.hpp"
#include "phicoll/os/clock.hpp"

namespace phicoll {
namespace measure {

/// The clock and the length of its tick. The same in all ranks of a run, which get it from the coordinator.
struct StampClock {
  std::uint32_t cycle_counter;  ///< else nanoseconds of CLOCK_MONOTONIC
  double ns_per_tick;

  /// A stamp before an operation: nothing that follows in the program becomes visible before it is taken.
  std::uint64_t before() const {
    return cycle_counter != 0 ? arch::cycles() : static_cast<std::uint64_t>(os::now_ns());
  }
  /// A stamp after an operation: every earlier load has its value. RDTSC alone may run ahead of the last read
  /// of a flag if the branch on it was predicted, and the exits of late ranks would look early. LFENCE holds
  /// it back.
  std::uint64_t after() const {
#if defined(__x86_64__) && !defined(PHICOLL_ARCH_K1OM)
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
