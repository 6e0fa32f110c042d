#pragma once

// Finds the run of a results file that can be continued, and checks the settings.

#include <cstdint>
#include <string>

#include "phicoll/measure/records.hpp"

namespace phicoll {
namespace measure {

/// The identifier of the last run of `file`, if it can be continued with `settings` (JSON, as in its
/// context). When to stop may differ; what is measured may not. `seed` becomes the run's seed unless one was
/// given. Throws an ArgumentError that names the setting that differs, or the host with another CPU, or of a
/// cluster, that measured it.
std::string run_to_resume(const RecordLines& file, const std::string& settings, std::uint64_t* seed,
                          bool seed_given);

}  // namespace measure
}  // namespace phicoll
