#pragma once

#include <cstdint>

#include "phicoll/measure/point.hpp"

namespace phicoll {
namespace measure {

/// Does the subject keep its operation's promise? Some hundred episodes at `place`, a byte offset in the
/// region, fewer for a point that has been verified in an earlier launch and where there is much data. Sets
/// verified, error, observed, episodes, library and the estimates. Throws SetFailure.
void verify_point(LiveSet& set, Point& point, std::size_t place, std::uint64_t seed);

}  // namespace measure
}  // namespace phicoll
