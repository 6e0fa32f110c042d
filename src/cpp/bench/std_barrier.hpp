#pragma once

#include "phicoll/measure/rank_worker.hpp"

namespace phicoll::bench {

measure::ExtraReference std_barrier_reference();

}  // namespace phicoll::bench
