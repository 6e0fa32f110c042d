#pragma once

#include <cstdint>

#include "phicoll/measure/point.hpp"

namespace phicoll {
namespace measure {

/// Checks that the subject keeps its operation's promise, in some hundred calls at `place`, a byte offset in
/// the region; fewer if the point was verified in an earlier launch or there is much data. Sets the point's
/// verified, error, observed, verified_calls, library and estimates. Throws SetFailure.
void verify_point(LiveSet& set, Point& point, std::size_t place, std::uint64_t seed);

}  // namespace measure
}  // namespace phicoll
