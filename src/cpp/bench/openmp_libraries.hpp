#pragma once

#include <map>
#include <string>

#include "phicoll/measure/worker_set.hpp"

namespace phicoll {
namespace bench {

/// The OpenMP libraries found here, by the reference's name, each with how to start the reference program on
/// it. libgomp is taken as linked; LLVM's libomp from /usr/lib/llvm-*/lib or the system's folder; Intel's
/// libiomp5 from `libiomp5` (a file or a folder, may be empty), else PHICOLL_LIBIOMP5, else the lib folder of
/// $VIRTUAL_ENV, else Intel's usual places. Empty if the reference program is neither beside phicoll-bench
/// nor at PHICOLL_OMP_REFERENCE.
std::map<std::string, measure::WorkerSet::Program> find_openmp(const std::string& libiomp5);

/// The OpenMP settings in the environment, as `NAME=value` words; "" for none.
std::string openmp_environment();

}  // namespace bench
}  // namespace phicoll
