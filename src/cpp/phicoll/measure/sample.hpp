#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/measure/point.hpp"
#include "phicoll/support/json.hpp"

namespace phicoll {
namespace measure {

/// Measures a point once by `definition`, loop or window, at `place`, a byte offset in the region; adds the
/// sample record's fields from `definition` on. The value goes to `point.values`, and what was seen decides
/// the next sample's number of calls and slack. A wrong result of the last call makes the point unverified.
/// Throws SetFailure.
void take_sample(LiveSet& set, Point& point, const std::string& definition, const Settings& settings,
                 const StampClock& clock, std::size_t place, std::uint64_t seed, JsonObject& fields);

}  // namespace measure
}  // namespace phicoll
