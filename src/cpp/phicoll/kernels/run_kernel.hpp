#pragma once

// A kernel by its spec on a port: the one place that goes from names to types.

#include <utility>

#include "phicoll/errors.hpp"
#include "phicoll/kernels/kernel.hpp"
#include "phicoll/kernels/registry.hpp"

namespace phicoll {
namespace kernels {

/// Calls `use(Kernel(), parameters)` for the spec's kernel, one of `Kernels`, with its parameters.
template <class Use, class Kernel>
bool use_if_named(const KernelSpec& spec, Use& use) {
  if (spec.name != Kernel::facts().name) return false;
  typename Kernel::Parameters given;
  ParameterParser parser(spec.name, spec.values);
  Kernel::describe(parser, given);
  use(Kernel(), given);
  return true;
}

template <class Use, class... Kernels>
void use_kernel(AlgorithmList<Kernels...>, const KernelSpec& spec, Use use) {
  const bool found[] = {use_if_named<Use, Kernels>(spec, use)...};
  bool any = false;
  for (const bool one : found) any = any || one;
  if (!any) throw ArgumentError("kernel", "'" + spec.name + "'", "a kernel of the list");
}

/// What the two stamps around a sample take with nothing between them.
template <class Port>
void time_empty_regions(Port& port, RankSamples& samples) {
  constexpr int regions = 33;
  samples.empty.reserve(regions);
  for (int i = 0; i < regions; ++i) {
    const std::int64_t begin = port.ticks();
    samples.empty.push_back(port.ticks() - begin);
  }
}

/// One rank's side of the kernel.
template <class Port>
void run_kernel(Port& port, const KernelSpec& spec, const KernelRun& run, RankSamples& samples) {
  time_empty_regions(port, samples);
  use_kernel(KernelList(), spec, [&](auto kernel, const auto& parameters) {
    decltype(kernel)::run(port, parameters, run, samples);
  });
}

}  // namespace kernels
}  // namespace phicoll
