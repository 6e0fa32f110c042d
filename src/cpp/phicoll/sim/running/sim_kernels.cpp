#include "phicoll/sim/running/sim_kernels.hpp"

#include "phicoll/errors.hpp"
#include "phicoll/kernels/run_kernel.hpp"
#include "phicoll/sim/engine/sim_port.hpp"
#include "phicoll/sim/running/sim_sweep.hpp"
#include "phicoll/sim/running/word_homes.hpp"

namespace phicoll {
namespace sim {

namespace {

template <class Kernel>
kernels::KernelSpec spec_of(typename Kernel::Parameters parameters) {
  ParameterLister lister;
  Kernel::describe(lister, parameters);
  return {Kernel::facts().name, lister.values};
}

/// Whose memory a byte of a kernel's is; nobody's if the kernel does not say.
template <class Kernel, class Parameters>
auto owner_in(int, const Parameters& p, int ranks, std::size_t byte)
    -> decltype(Kernel::owner(p, ranks, byte)) {
  return Kernel::owner(p, ranks, byte);
}
template <class Kernel, class Parameters>
int owner_in(long, const Parameters&, int, std::size_t) {
  return LocalStores::main_memory;
}

/// In whose local store each 16 bytes of a kernel's memory lie.
std::vector<LocalStores::Home> homes_of(const kernels::KernelSpec& spec, int ranks) {
  std::vector<LocalStores::Home> homes(kernels::kernel_footprint(spec, ranks) / LocalStores::unit);
  kernels::use_kernel(kernels::KernelList(), spec, [&homes, ranks](auto kernel, const auto& parameters) {
    for (std::size_t i = 0; i < homes.size(); ++i)
      homes[i].rank =
          static_cast<std::int16_t>(owner_in<decltype(kernel)>(0, parameters, ranks, i * LocalStores::unit));
  });
  return homes;
}

bool says_whose(const kernels::KernelSpec& spec) {
  int owner = LocalStores::main_memory;
  kernels::use_kernel(kernels::KernelList(), spec, [&owner](auto kernel, const auto& parameters) {
    owner = owner_in<decltype(kernel)>(0, parameters, 1, 0);
  });
  return owner != LocalStores::main_memory;
}

Shape one_a_core(const Machine& machine, int ranks) {
  return place_ranks(ranks, machine.places(), Placement::scatter);
}

/// Of the ranks that measured.
std::vector<std::vector<double>> all_ns(const kernels::KernelSamples& samples) {
  std::vector<std::vector<double>> values;
  for (std::size_t r = 0; r < samples.ranks.size(); ++r)
    if (!samples.ranks[r].ticks.empty()) values.push_back(samples.ns(static_cast<int>(r)));
  return values;
}

}  // namespace

SimOptions kernel_options(std::uint64_t seed) {
  SimOptions options;
  options.seed = seed;
  options.wait.kind = WaitPolicy::Kind::spin;
  return options;
}

std::string why_not(const Machine& machine, const kernels::KernelSpec& spec) {
  if (kernels::kernel_where(spec) == "same-cpu")
    return "its ranks share a CPU, and a context of a simulated machine has one rank";
  if (machine.p.protocol == Protocol::local_store && !says_whose(spec))
    return "it measures lines of caches by their state, and " + machine.name + " has local stores";
  if (kernels::asks_for_forward(spec) && machine.p.protocol != Protocol::table)
    return "the protocol of " + machine.name + " has no state F";
  return "";
}

void check_kernel(const Machine& machine, const kernels::KernelSpec& spec) {
  const std::string why = why_not(machine, spec);
  if (!why.empty())
    throw ArgumentError("kernel", "'" + spec.text() + "' on " + machine.name, "what it can run: " + why);
}

kernels::KernelSamples simulate_kernel(const Machine& machine, const kernels::KernelSpec& spec,
                                       const Shape& shape, int samples, const SimOptions& options) {
  if (samples < 1) throw ArgumentError("samples", std::to_string(samples), "1 or more");
  const int ranks = shape.size();
  kernels::check_kernel_ranks(spec, ranks);
  check_kernel(machine, spec);
  kernels::KernelSamples result;
  result.spec = spec;
  result.ns_per_tick = machine.ns(1);
  result.per_sample = kernels::kernel_per_sample(spec, ranks);
  result.bytes = kernels::kernel_bytes(spec);
  result.ranks.resize(static_cast<std::size_t>(ranks));
  // Until the last rank has read the stamp: the reads of one line come one after the other.
  const std::int64_t start_ticks = 5000 + 400 * std::int64_t{ranks};
  SimOptions settings = options;
  if (machine.p.protocol == Protocol::local_store && machine.p.data_in == DataIn::store) {
    settings.homes = homes_of(spec, ranks);
    check_room(settings.homes, std::vector<std::size_t>(static_cast<std::size_t>(ranks)), machine, "kernel",
               spec.text());
  }
  Simulation simulation(machine, shape, kernels::kernel_footprint(spec, ranks), settings);
  simulation.run([&](SimPort& port) {
    const kernels::KernelRun run = {port.rank(), ranks,        simulation.memory(),
                                    samples,     options.seed, start_ticks};
    kernels::run_kernel(port, spec, run, result.ranks[static_cast<std::size_t>(port.rank())]);
  });
  return result;
}

Shape shape_at(const Machine& machine, const std::string& distance, int ranks) {
  const MachineParameters& p = machine.p;
  const std::vector<CpuLocation> places = machine.places();
  const auto context = [&](int core, int number) {
    return places.at(static_cast<std::size_t>(core * p.contexts_per_core + number));
  };
  const int package_cores = p.cores / p.packages;
  int core = -1;
  int number = 0;
  if (distance == "same-core" && p.contexts_per_core > 1) {
    core = 0;
    number = 1;
  } else if (distance == "adjacent" || distance == "same-package") {
    core = package_cores > 1 ? 1 : -1;
  } else if (distance == "middle") {
    core = p.cores / 4;
  } else if (distance == "maximum") {
    core = p.cores / 2;
  } else if (distance == "other-package") {
    core = p.packages > 1 ? package_cores : -1;
  } else if (!distance.empty() && distance.size() < 4 &&
             distance.find_first_not_of("0123456789") == std::string::npos) {
    core = std::stoi(distance);
  }
  if (core < 0 || core >= p.cores || (core == 0 && number == 0))
    throw ArgumentError("distance", "'" + distance + "' on " + machine.name,
                        "same-core, adjacent, middle, maximum, same-package, other-package, or a core from 1 "
                        "to " +
                            std::to_string(p.cores - 1));
  if (ranks < 1 || ranks > 3 || (ranks == 3 && p.cores < 3))
    throw ArgumentError("ranks", std::to_string(ranks), "1 to 3, each on a core of the machine");
  // In the reader's package, so that a shared line of a snooping machine is there too (ramos-hoefler-2013,
  // table 1.8: 17 ns although the owner is in the other package).
  const int helper = core == 1 ? 2 : 1;
  std::vector<CpuLocation> chosen = {context(0, 0), context(core, number)};
  if (ranks == 3) chosen.push_back(context(helper, 0));
  chosen.resize(static_cast<std::size_t>(ranks));
  return Shape(chosen);
}

namespace {

/// The first cores of two packages, half of the ranks on each.
Shape across_packages(const Machine& machine, int ranks) {
  const MachineParameters& p = machine.p;
  const int cores = p.cores / p.packages;
  if (p.packages < 2)
    throw ArgumentError("where", "'across-packages' on " + machine.name, "a place that one package has");
  const int contexts = cores * p.contexts_per_core;
  if (ranks < 2 || ranks % 2 != 0 || ranks / 2 > contexts)
    throw ArgumentError("ranks", std::to_string(ranks),
                        "an even number from 2 to " + std::to_string(2 * contexts) + " across packages");
  std::vector<CpuLocation> chosen;
  for (int package = 0; package < 2; ++package) {
    std::vector<CpuLocation> here;
    for (const CpuLocation& place : machine.places())
      if (place.package == package) here.push_back(place);
    const Shape half = place_ranks(ranks / 2, here, Placement::scatter);
    chosen.insert(chosen.end(), half.places().begin(), half.places().end());
  }
  return Shape(chosen);
}

}  // namespace

Shape kernel_shape(const Machine& machine, int ranks, const std::string& where) {
  const bool is_list =
      !where.empty() && where[0] >= '0' && where[0] <= '9' && where.find_first_of(",-") != std::string::npos;
  const bool is_placement = where == "compact" || where == "scatter" || where == "balanced";
  if (is_list || is_placement) return place_on_machine(machine, ranks, where);
  if (where == "across-packages") return across_packages(machine, ranks);
  // What these places of a host are here: a package has one last-level cache.
  if (where == "same-l3") return shape_at(machine, "same-package", ranks);
  return shape_at(machine, where, ranks);
}

std::vector<double> simulate_read_latency(const Machine& machine, kernels::LineState state,
                                          const std::string& distance, int samples, std::uint64_t seed) {
  const bool local = distance == "local";
  kernels::ReadLatency::Parameters p;
  p.state = state;
  p.owner = local ? kernels::ReadLatency::Owner::self : kernels::ReadLatency::Owner::other;
  const int ranks = (local ? 1 : 2) + (state == kernels::LineState::shared ? 1 : 0);
  const Shape shape = shape_at(machine, local ? "adjacent" : distance, ranks);
  return simulate_kernel(machine, spec_of<kernels::ReadLatency>(p), shape, samples, kernel_options(seed))
      .ns(0);
}

std::vector<double> simulate_ping_pong(const Machine& machine, kernels::LineState send,
                                       kernels::LineState receive, const std::string& distance, int samples,
                                       std::uint64_t seed) {
  if (receive == kernels::LineState::invalid)
    throw ArgumentError("receive", "I", "M, E, S: a receive line is polled");
  kernels::PingPong::Parameters p;
  p.state = send;
  p.receive = receive;
  return simulate_kernel(machine, spec_of<kernels::PingPong>(p), shape_at(machine, distance, 2), samples,
                         kernel_options(seed))
      .ns(0);
}

std::vector<double> simulate_multi_line(const Machine& machine, kernels::LineState send,
                                        kernels::LineState receive, int lines, const std::string& distance,
                                        int samples, std::uint64_t seed) {
  if (lines < 1) throw ArgumentError("lines", std::to_string(lines), "1 or more");
  kernels::MultiLine::Parameters p;
  p.state = send;
  p.receive = receive;
  p.lines = lines;
  return simulate_kernel(machine, spec_of<kernels::MultiLine>(p), shape_at(machine, distance, 2), samples,
                         kernel_options(seed))
      .ns(0);
}

std::vector<std::vector<double>> simulate_contention(const Machine& machine, kernels::LineState common,
                                                     kernels::LineState receive, int receivers, int samples,
                                                     std::uint64_t seed) {
  kernels::Contention::Parameters p;
  p.state = common;
  p.receive = receive;
  return all_ns(simulate_kernel(machine, spec_of<kernels::Contention>(p), one_a_core(machine, receivers + 1),
                                samples, kernel_options(seed)));
}

std::vector<std::vector<double>> simulate_read_by_all(const Machine& machine,
                                                      kernels::ReadByAll::Pattern pattern, int lines,
                                                      int ranks, int samples, std::uint64_t seed) {
  kernels::ReadByAll::Parameters p;
  p.pattern = pattern;
  p.lines = lines;
  return all_ns(simulate_kernel(machine, spec_of<kernels::ReadByAll>(p), one_a_core(machine, ranks), samples,
                                kernel_options(seed)));
}

std::vector<double> simulate_stream(const Machine& machine, kernels::Stream::Operation operation,
                                    StorePolicy store, int lines, int ranks, int samples,
                                    std::uint64_t seed) {
  kernels::Stream::Parameters p;
  p.operation = operation;
  p.store = store;
  p.lines = lines;
  return simulate_kernel(machine, spec_of<kernels::Stream>(p), one_a_core(machine, ranks), samples,
                         kernel_options(seed))
      .gigabytes_a_second();
}

}  // namespace sim
}  // namespace phicoll
