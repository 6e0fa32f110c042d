#pragma once

#include <cstdint>

#include "phicoll/measure/point.hpp"

namespace phicoll {
namespace measure {

/// Does the subject keep the barrier's promise? Some hundred episodes at `place`, a byte offset in the
/// region, fewer for a point that has been verified in an earlier launch. Sets verified, error, observed,
/// episodes, library and the estimate of a call. Throws SetFailure.
void verify_point(LiveSet& set, Point& point, std::size_t place, std::uint64_t seed, const StampClock& clock);

}  // namespace measure
}  // namespace phicoll
