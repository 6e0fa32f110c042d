#pragma once

// A kernel on this machine, its ranks as threads or processes.

#include <cstdint>
#include <string>

#include "phicoll/group/options.hpp"
#include "phicoll/kernels/kernel.hpp"

namespace phicoll {
namespace kernels {

struct NativeRun {
  int ranks = 2;
  int samples = 1000;
  std::uint64_t seed = 1;
  /// Ranks are forked processes, which reach the kernel's memory at addresses of their own. The caller has
  /// one thread then.
  bool processes = false;
  /// How ranks poll: `spin` looks again at once, as the papers' kernels do.
  WaitPolicy wait{WaitPolicy::Kind::spin, 1};
  /// As in GroupOptions, or a place (places.hpp). Empty: ranks are not pinned.
  std::string placement = "compact";
  std::int64_t timeout_ms = 0;    ///< a single wait
  std::int64_t start_ns = 20000;  ///< from the moment when all have come to a common start
};

/// Throws ArgumentError("ranks") for more ranks than CPUs that this process may use, unless the kernel's are
/// meant to share one. `or_else`: the way around that the caller offers, for the message.
void check_kernel_cpus(const KernelSpec& spec, int ranks, const std::string& or_else = "");

/// Throws ArgumentError (ranks, samples, placement, where), ResourceError, and what breaks a group.
KernelSamples run_native(const KernelSpec& spec, const NativeRun& run);

}  // namespace kernels
}  // namespace phicoll
