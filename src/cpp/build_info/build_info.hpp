#pragma once

#include "phicoll/measure/records.hpp"

namespace phicoll {

/// How this program was built: what records say of phicoll-bench and of the Python module.
measure::BuildInfo build_info();

}  // namespace phicoll
