#include "phicoll/sim/counting/count_barrier.hpp"

#include "phicoll/collectives/barrier/make.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/sim/counting/count_port.hpp"

namespace phicoll {

std::vector<Counts> count_barrier_episodes(const AlgorithmSpec& spec, const Shape& shape, int episodes,
                                           const std::vector<int>& order) {
  if (shape.size() < 1 || shape.size() > max_ranks)
    throw ArgumentError("ranks", std::to_string(shape.size()), "1 to " + std::to_string(max_ranks));
  const AlgorithmSpec effective = effective_barrier(spec, shape);
  std::vector<CountPort> ports;
  std::vector<std::unique_ptr<AnyBarrier<CountPort>>> barriers;
  // Goes first, and unwinds the fibers that still are inside a barrier after an error.
  CountMachine machine(shape, barrier_footprint(effective, shape));
  for (int r = 0; r < shape.size(); ++r) {
    ports.emplace_back(machine, r);
    barriers.push_back(make_barrier<CountPort>(effective, Setup{r, shape, machine.memory()}));
  }
  const auto one_call = [&](int r) {
    const auto i = static_cast<std::size_t>(r);
    (*barriers[i])(ports[i]);
  };
  std::vector<Counts> counts;
  for (int e = 0; e < episodes; ++e) counts.push_back(machine.run_episode(one_call, order));
  return counts;
}

Counts count_barrier(const AlgorithmSpec& spec, const Shape& shape) {
  return count_barrier_episodes(spec, shape, 3).back();
}

}  // namespace phicoll
