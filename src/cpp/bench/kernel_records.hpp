#pragma once

// The records of a memory kernel's run: kinds `kernel` and `kernel-sample` of docs/records.md.

#include <string>
#include <vector>

#include "phicoll/kernels/kernel.hpp"
#include "phicoll/support/json.hpp"

namespace phicoll {
namespace bench {

/// A kernel with a number of ranks in one run, and where it ran.
struct KernelPoint {
  int number = 0;
  kernels::KernelSpec spec;
  int ranks = 2;
  std::string mode;            ///< `threads`, `processes` or `simulated`
  std::string machine;         ///< `host`, or the simulated machine's name
  std::string machine_digest;  ///< empty for the host
  std::string where;
  std::vector<int> contexts;  ///< of each rank; empty if ranks are not pinned
  std::string wait;
  int samples = 0;
  std::uint64_t seed = 1;
  std::string skipped;  ///< why it cannot run here; empty if it can
};

JsonObject kernel_fields(const KernelPoint& point, const kernels::KernelSamples& samples);
/// The fields for a point that cannot run: what was asked for, and `skipped`.
JsonObject skipped_fields(const KernelPoint& point);
/// The fields for one rank that measured.
JsonObject kernel_sample_fields(const KernelPoint& point, const kernels::KernelSamples& samples, int rank);

}  // namespace bench
}  // namespace phicoll
