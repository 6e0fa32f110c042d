#pragma once

// A point of a simulated run as records: what docs/records.md says of mode `simulated`.

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "phicoll/sim/running/sim_collectives.hpp"
#include "phicoll/sim/running/sim_sweep.hpp"

namespace phicoll {
namespace sim {

struct PointRecords {
  std::vector<std::string> lines;  ///< `point`, then `round` and `sample`s of each round
  std::int64_t samples = 0;
  bool verified = true;
  bool timing_only = false;  ///< buffers were ghost; a twin of `twin_bytes` was compared instead
  std::size_t twin_bytes = 0;
  std::int64_t compared = 0;  ///< calls whose results were compared
  std::string error;  ///< of the first round that failed: a deadlock, or a barrier that let a rank out early
};

/// The function that simulates a step: simulate_collective, unless a test replaces it.
using Simulator = std::function<CollectiveRun(const Machine&, const measure::Work&, const AlgorithmSpec&,
                                              const Shape&, const CollectiveOptions&)>;

/// Simulates the steps of a point. The same settings give the same lines on any host. A failure ends the
/// point and is part of its record; bad input is thrown. `stop`, if given, ends the point when it turns true,
/// with the steps done so far; without any step there are no lines. `finished` counts as in
/// CollectiveOptions.
PointRecords simulate_point(const SimulatedSettings& settings, const SimulatedPoint& point,
                            const std::string& run, const std::atomic<bool>* stop = nullptr,
                            std::atomic<std::int64_t>* finished = nullptr,
                            const Simulator& simulate = simulate_collective);

}  // namespace sim
}  // namespace phicoll
