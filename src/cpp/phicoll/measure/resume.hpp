#pragma once

// Which run of a results file can be continued, and with which settings.

#include <cstdint>
#include <string>

#include "phicoll/measure/records.hpp"

namespace phicoll {
namespace measure {

/// The last run of `file`, if it can be continued with `settings` (JSON, as its context has them). How long
/// to go on may differ, what is measured may not. `seed` becomes the run's unless it was given. Throws
/// ArgumentError naming the setting that differs.
std::string run_to_resume(const RecordLines& file, const std::string& settings, std::uint64_t* seed,
                          bool seed_given);

}  // namespace measure
}  // namespace phicoll
