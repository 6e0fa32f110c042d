#pragma once

// `run --machine`: a sweep on a simulated machine, its points side by side on the CPUs of this one.

#include <string>
#include <vector>

#include "bench/arguments.hpp"

namespace phicoll {
namespace bench {

/// Options of `run` that only a simulated run has, without --machine.
const std::vector<std::string>& simulated_options();
/// Throws ArgumentError for an option of `names` that was given.
void refuse_options(const Arguments& arguments, const std::vector<std::string>& names,
                    const std::string& allowed);

int run_simulated(const Arguments& arguments, const std::vector<std::string>& whole_line);

}  // namespace bench
}  // namespace phicoll
