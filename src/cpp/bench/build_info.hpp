#pragma once

#include "phicoll/measure/records.hpp"

namespace phicoll {
namespace bench {

/// How this program was built.
measure::BuildInfo build_info();

}  // namespace bench
}  // namespace phicoll
