#include "phicoll/kernels/run_native.hpp"

#include <algorithm>
#include <cstring>

#include "phicoll/errors.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/group/thread_group.hpp"
#include "phicoll/kernels/places.hpp"
#include "phicoll/kernels/run_kernel.hpp"
#include "phicoll/kernels/samples_of_processes.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"

namespace phicoll {
namespace kernels {

namespace {

unsigned char* on_page(unsigned char* memory) {
  const auto past = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(memory) % page_bytes);
  return past == 0 ? memory : memory + (page_bytes - past);
}

}  // namespace

void check_kernel_cpus(const KernelSpec& spec, int ranks, const std::string& or_else) {
  const int allowed = os::allowed_cpu_count();
  if (ranks > allowed && kernel_where(spec) != "same-cpu")
    throw ArgumentError("ranks", std::to_string(ranks),
                        "1 to " + std::to_string(allowed) + ", the CPUs that may be used" + or_else);
}

KernelSamples run_native(const KernelSpec& spec, const NativeRun& run) {
  if (run.samples < 1) throw ArgumentError("samples", std::to_string(run.samples), "1 or more");
  check_kernel_ranks(spec, run.ranks);
  const std::size_t bytes = kernel_footprint(spec, run.ranks);
  GroupOptions options;
  options.wait = run.wait;
  options.placement = placement_at(run.placement, run.ranks);
  options.timeout_ms = run.timeout_ms;
  options.memory_limit = std::max(options.memory_limit, bytes + page_bytes);

  KernelSamples result;
  result.spec = spec;
  result.ns_per_tick = os::ns_per_tick();
  result.per_sample = kernel_per_sample(spec, run.ranks);
  result.bytes = kernel_bytes(spec);
  result.ranks.resize(static_cast<std::size_t>(run.ranks));
  const auto start_ticks = static_cast<std::int64_t>(static_cast<double>(run.start_ns) / result.ns_per_tick);
  // Samples are the rank's own while it measures: neighbours in a vector share lines.
  const auto measured = [&](Communicator& comm) {
    NativePort port(comm.control(), comm.rank(), run.wait);
    RankSamples samples;
    samples.ticks.reserve(static_cast<std::size_t>(run.samples));
    const KernelRun mine = {comm.rank(), comm.size(), on_page(comm.region()),
                            run.samples, run.seed,    start_ticks};
    run_kernel(port, spec, mine, samples);
    return samples;
  };
  if (run.processes) {
    SamplesOfProcesses found(run.ranks, run.samples);
    fork_and_run(run.ranks, options, [&](Communicator& comm) { found.put(comm.rank(), measured(comm)); });
    for (int r = 0; r < run.ranks; ++r) result.ranks[static_cast<std::size_t>(r)] = found.get(r);
  } else {
    ThreadGroup group(run.ranks, options);
    group.run(
        [&](Communicator& comm) { result.ranks[static_cast<std::size_t>(comm.rank())] = measured(comm); });
  }
  return result;
}

}  // namespace kernels
}  // namespace phicoll
