#pragma once

#include "phicoll/measure/records.hpp"

namespace phicoll {
namespace bindings {

/// How this module was built, for the records that it writes.
measure::BuildInfo build_info();

}  // namespace bindings
}  // namespace phicoll
