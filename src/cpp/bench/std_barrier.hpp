#pragma once

#include "phicoll/measure/rank_worker.hpp"

namespace phicoll {
namespace bench {

measure::ExtraReference std_barrier_reference();

}  // namespace bench
}  // namespace phicoll
