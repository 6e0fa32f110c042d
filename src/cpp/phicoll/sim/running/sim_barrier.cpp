#include "phicoll/sim/running/sim_barrier.hpp"

#include <algorithm>

#include "phicoll/collectives/barrier/make.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/settings.hpp"
#include "phicoll/sim/engine/cold_start.hpp"
#include "phicoll/sim/engine/sim_port.hpp"

namespace phicoll {
namespace sim {

std::vector<Cycles> BarrierRun::times(bool window) const {
  std::vector<Cycles> times;
  Cycles before = start;
  for (int e = 0; e < episodes; ++e) {
    const auto first = static_cast<std::ptrdiff_t>(e) * ranks;
    const Cycles out = *std::max_element(exit.begin() + first, exit.begin() + first + ranks);
    const Cycles in = *std::max_element(entry.begin() + first, entry.begin() + first + ranks);
    times.push_back(out - (window ? in : before));
    before = out;
  }
  return times;
}

void BarrierRun::begin_counting(Simulation& simulation, Cycles now) {
  if (simulation.log() == nullptr || counted_from != 0) return;
  counted_before = simulation.counters();
  counted_from = now;
}

void BarrierRun::finish(Simulation& simulation) {
  counters = simulation.counters();
  counted_to = simulation.now();
  if (simulation.log() != nullptr) log = std::make_unique<Log>(std::move(*simulation.log()));
}

AlgorithmSpec simulated_barrier(const std::string& text) {
  const AlgorithmSpec spec = parse_barrier(text);
  if (text.find(":store=") != std::string::npos) return spec;
  for (const auto& value : spec.values) {
    if (value.first != "store") continue;
    try {
      return parse_barrier(text + ":store=no-read");
    } catch (const ArgumentError&) {
      return spec;  // this layout's flags share their lines
    }
  }
  return spec;
}

BarrierRun simulate_barrier(const Machine& machine, const AlgorithmSpec& spec, const Shape& shape,
                            const BarrierOptions& options) {
  measure::check_evicted(options.evicted, options.window);
  const AlgorithmSpec effective = effective_barrier(spec, shape);
  const auto ranks = static_cast<std::size_t>(shape.size());
  SimOptions settings = options.simulation;
  if (effective.has_wait) settings.wait = effective.wait;
  std::vector<std::unique_ptr<AnyBarrier<SimPort>>> barriers;
  // Goes first, and unwinds the fibers that still are inside a barrier after an error.
  Simulation simulation(machine, shape, barrier_footprint(effective, shape), settings);
  for (int r = 0; r < shape.size(); ++r)
    barriers.push_back(make_barrier<SimPort>(effective, Setup{r, shape, simulation.memory()}));

  BarrierRun run;
  run.ranks = shape.size();
  run.episodes = options.episodes;
  run.entry.resize(ranks * static_cast<std::size_t>(options.episodes));
  run.exit.resize(run.entry.size());
  const int total = options.warm_up + options.episodes;
  const auto one = [&](SimPort& port, int episode) {
    const auto r = static_cast<std::size_t>(port.rank());
    const Cycles in = port.ticks();
    if (episode == options.warm_up) run.begin_counting(simulation, in);
    simulation.mark(port.rank(), MarkKind::enter, episode - options.warm_up);
    (*barriers[r])(port);
    port.software(Software::call);
    const Cycles out = port.ticks();
    simulation.mark(port.rank(), MarkKind::leave, episode - options.warm_up);
    if (episode >= options.warm_up) {
      const std::size_t i = static_cast<std::size_t>(episode - options.warm_up) * ranks + r;
      run.entry[i] = in;
      run.exit[i] = out;
    } else {
      run.start = std::max(run.start, out);
    }
  };
  if (options.window) {
    const std::size_t bytes = barrier_footprint(effective, shape);
    for (int e = 0; e < total; ++e) {
      if (options.evicted) evict_all(simulation, bytes);
      simulation.run([&](SimPort& port) { one(port, e); });
    }
  } else {
    simulation.run([&](SimPort& port) {
      for (int e = 0; e < total; ++e) one(port, e);
    });
  }
  // The barrier's promise: nobody leaves an episode before all have entered it.
  for (std::size_t e = 0; e < static_cast<std::size_t>(options.episodes); ++e) {
    const auto in = run.entry.begin() + static_cast<std::ptrdiff_t>(e * ranks);
    const auto out = run.exit.begin() + static_cast<std::ptrdiff_t>(e * ranks);
    const auto end = static_cast<std::ptrdiff_t>(ranks);
    const auto last = std::max_element(in, in + end);
    const auto first = std::min_element(out, out + end);
    if (*first < *last)
      throw Error("simulation: " + effective.text() + ": in episode " + std::to_string(e) + " rank " +
                  std::to_string(first - out) + " left at cycle " + std::to_string(*first) +
                  ", before rank " + std::to_string(last - in) + " entered at " + std::to_string(*last));
  }
  run.finish(simulation);
  return run;
}

}  // namespace sim
}  // namespace phicoll
