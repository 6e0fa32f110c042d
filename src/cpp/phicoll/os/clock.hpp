#pragma once

// The two clocks: CLOCK_MONOTONIC in nanoseconds, and the cycle counter of arch/ with its calibration against
// it.

#include <cstdint>

namespace phicoll {
namespace os {

/// CLOCK_MONOTONIC in nanoseconds: one time for all processes of the machine.
std::int64_t now_ns();

/// The CPU time of this thread in nanoseconds. What a virtual machine's host took away is not in it, if the
/// kernel knows.
std::int64_t thread_cpu_ns();

/// The cycle counter (arch::cycles(): TSC, CNTVCT) as a clock. All members are measured but `invariant`.
struct CycleClock {
  double ns_per_cycle = 0;  ///< nanoseconds that one count stands for
  bool invariant =
      false;  ///< runs at one rate in all power states, in step on all CPUs, according to the vendor
  double resolution_ns = 0;            ///< smallest step seen between two reads
  double overhead_ns = 0;              ///< time that one read takes
  double monotonic_resolution_ns = 0;  ///< the same for now_ns()
  double monotonic_overhead_ns = 0;

  double to_ns(std::uint64_t cycles) const { return static_cast<double>(cycles) * ns_per_cycle; }
  std::uint64_t to_cycles(double ns) const { return static_cast<std::uint64_t>(ns / ns_per_cycle + 0.5); }
};

/// Calibrates over `window_ns` (longer is more exact: the error is about 100 ns in the window).
CycleClock calibrate_cycle_clock(std::int64_t window_ns);

/// The clock of this process, calibrated over 20 ms at the first call. Thread-safe.
const CycleClock& cycle_clock();

/// Whether the cycle counter serves as one clock for all ranks (NativePort::ticks): on x86-64 where the
/// vendor calls it invariant, on aarch64 and on the card always (paper 004, section 3.2: consistent between
/// cores in a normal power state). Decided at the first call, the same in every process of a machine.
bool cycle_counter_is_clock();

/// Nanoseconds of one of NativePort's ticks: cycle_clock()'s, or 1 where they are nanoseconds.
double ns_per_tick();

/// Whether the CPU says that its counter is invariant: the flags constant_tsc and nonstop_tsc in `cpuinfo`
/// (the text of /proc/cpuinfo) on x86; always on aarch64.
bool cycle_counter_invariant(const char* cpuinfo);

}  // namespace os
}  // namespace phicoll
