#pragma once

// How far the cycle counters of two CPUs are apart.

#include <cstdint>
#include <vector>

namespace phicoll {
namespace os {

/// The bounds of counter(other) - counter(first): [low_ns, high_ns], as wide as the fastest round trip of a
/// line between the two CPUs that was seen.
struct ClockOffset {
  double low_ns = 0;
  double high_ns = 0;
  /// The estimate: the middle.
  double offset_ns() const { return (low_ns + high_ns) / 2; }
};

/// Measures it with one thread on each CPU that exchange stamps `exchanges` times. The two must be distinct
/// and allowed. ResourceError when a thread cannot be started or pinned.
ClockOffset measure_clock_offset(int first, int other, int exchanges = 2000);

/// The largest |offset_ns()| between the first CPU of the list and each other one; 0 for a single CPU.
double largest_clock_offset_ns(const std::vector<int>& cpus);

}  // namespace os
}  // namespace phicoll
