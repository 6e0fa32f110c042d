#pragma once

// `run --machine`: a sweep on a simulated machine. Points are simulated in parallel on this machine's CPUs.

#include <string>
#include <vector>

#include "phicoll/measure/sweep_options.hpp"

namespace phicoll {
namespace bench {

int run_simulated(const measure::SweepValues& values, const std::vector<std::string>& whole_line);

}  // namespace bench
}  // namespace phicoll
