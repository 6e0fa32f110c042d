#pragma once

// The memory kernels on a simulated machine: the sources of phicoll/kernels, unchanged, on SimPort. All
// results are simulated times in nanoseconds of the machine's clock; the same arguments give the same results
// on any host.

#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/kernels/kernel.hpp"
#include "phicoll/kernels/line_state.hpp"
#include "phicoll/kernels/read_by_all.hpp"
#include "phicoll/kernels/stream.hpp"
#include "phicoll/memory/policies.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/sim/engine/simulation.hpp"
#include "phicoll/sim/machine/machine.hpp"

namespace phicoll {
namespace sim {

/// How a kernel is run: no rank pauses between two looks, as the papers' kernels poll.
SimOptions kernel_options(std::uint64_t seed);

/// Why the machine cannot run the kernel as asked (a state that its protocol does not have, ranks that are to
/// share a CPU); "" if it can.
std::string why_not(const Machine& machine, const kernels::KernelSpec& spec);

/// Throws ArgumentError("kernel") with that reason.
void check_kernel(const Machine& machine, const kernels::KernelSpec& spec);

/// The kernel on the contexts of `shape`. `options.seed` also draws the addresses. Throws ArgumentError
/// ("ranks", "samples", "kernel" with why_not's reason, and what Simulation refuses).
kernels::KernelSamples simulate_kernel(const Machine& machine, const kernels::KernelSpec& spec,
                                       const Shape& shape, int samples, const SimOptions& options);

/// Contexts for two ranks at a distance, and for a helper on a third core near the first: `same-core`,
/// `adjacent`, `middle` (a quarter of the ring, as in ramos-hoefler-2013), `maximum` (half of it),
/// `same-package`, `other-package`, or the number of the second rank's core. The first rank is on core 0.
/// Throws ArgumentError("distance").
Shape shape_at(const Machine& machine, const std::string& distance, int ranks);

/// Where the ranks of a kernel are, as text: what place_on_machine takes (`compact`, `scatter`, `balanced`,
/// or contexts such as `0,4-7`), else a distance for shape_at. Throws ArgumentError("ranks", "placement",
/// "distance").
Shape kernel_shape(const Machine& machine, int ranks, const std::string& where);

/// One value a sample. Local reads are those with `distance` "local".
std::vector<double> simulate_read_latency(const Machine& machine, kernels::LineState state,
                                          const std::string& distance, int samples, std::uint64_t seed);
std::vector<double> simulate_ping_pong(const Machine& machine, kernels::LineState send,
                                       kernels::LineState receive, const std::string& distance, int samples,
                                       std::uint64_t seed);
std::vector<double> simulate_multi_line(const Machine& machine, kernels::LineState send,
                                        kernels::LineState receive, int lines, const std::string& distance,
                                        int samples, std::uint64_t seed);

/// A vector a receiver. One rank a core while there are cores.
std::vector<std::vector<double>> simulate_contention(const Machine& machine, kernels::LineState common,
                                                     kernels::LineState receive, int receivers, int samples,
                                                     std::uint64_t seed);
/// A vector a reader; one rank a core while there are cores.
std::vector<std::vector<double>> simulate_read_by_all(const Machine& machine,
                                                      kernels::ReadByAll::Pattern pattern, int lines,
                                                      int ranks, int samples, std::uint64_t seed);
/// GB/s of all ranks, a value a sample.
std::vector<double> simulate_stream(const Machine& machine, kernels::Stream::Operation operation,
                                    StorePolicy store, int lines, int ranks, int samples, std::uint64_t seed);

}  // namespace sim
}  // namespace phicoll
