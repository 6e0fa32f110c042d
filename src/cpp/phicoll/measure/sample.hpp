#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/measure/point.hpp"
#include "phicoll/support/json.hpp"

namespace phicoll {
namespace measure {

/// Takes one sample of a point under `definition` (loop or window) at `place`, a byte offset in the region.
/// Adds the sample record's fields from `definition` on, appends the value to `point.values`, and adapts the
/// number of calls and the slack of the next sample. If the last call's result is wrong, the point becomes
/// unverified. Throws SetFailure.
void take_sample(LiveSet& set, Point& point, const std::string& definition, const Settings& settings,
                 const StampClock& clock, std::size_t place, std::uint64_t seed, JsonObject& fields);

}  // namespace measure
}  // namespace phicoll
