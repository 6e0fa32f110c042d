#pragma once

#include "phicoll/measure/records.hpp"

namespace phicoll {
namespace measure {

/// Calibrates the cycle counter and measures how far the allowed CPUs' counters are apart. Starts and ends
/// threads: call it before anything is forked. The cycle counter is taken where the maker calls it invariant
/// and no two CPUs are seen more than 1 us apart; CLOCK_MONOTONIC otherwise.
ClockFacts measure_clock();

}  // namespace measure
}  // namespace phicoll
