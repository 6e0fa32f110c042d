#pragma once

#include "phicoll/measure/records.hpp"

namespace phicoll {
namespace measure {

/// Calibrates the cycle counter and measures how far apart the counters of the allowed CPUs are. Chooses the
/// cycle counter if its vendor calls it invariant and no offset reaches 1 us, otherwise CLOCK_MONOTONIC.
/// Starts and ends threads, so call it before anything is forked.
ClockFacts measure_clock();

}  // namespace measure
}  // namespace phicoll
