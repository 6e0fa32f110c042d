#pragma once

// A barrier on a simulated machine.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "phicoll/collectives/barrier/barrier.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/sim/engine/simulation.hpp"

namespace phicoll {
namespace sim {

struct BarrierOptions {
  int episodes = 20;  ///< that are reported
  int warm_up = 2;    ///< before them, for the lines to be where they always are
  /// Back to back (`loop`), or each episode from rest with the ranks' entries drawn within
  /// `SimOptions::start_skew` cycles of each other (`window`).
  bool window = false;
  /// Before each episode (windows only) the barrier's shared memory is dropped from all caches, outside of
  /// the time: every flag comes from memory.
  bool evicted = false;
  SimOptions simulation;  ///< its `wait` applies unless the spec names one
};

struct BarrierRun {
  int ranks = 0;
  int episodes = 0;
  /// When each rank entered and left each reported episode, in cycles: [episode * ranks + rank].
  std::vector<Cycles> entry, exit;
  /// Of a loop: when the last rank left the last warm-up episode.
  Cycles start = 0;
  Counters counters;  ///< of the whole run, warm-up included
  std::unique_ptr<Log> log;
  /// With a log: what had been counted when the first rank entered the first reported episode, then and at
  /// the end.
  Counters counted_before;
  Cycles counted_from = 0, counted_to = 0;

  /// The time of each reported episode in cycles. Loop: from the last rank's exit of one episode to that of
  /// the next. Window: from the last entry to the last exit.
  std::vector<Cycles> times(bool window) const;

  /// A rank enters the first reported episode now: with a log, the first one's call notes what was counted.
  void begin_counting(Simulation& simulation, Cycles now);
  /// Takes what the simulation counted, and its log.
  void finish(Simulation& simulation);
};

/// Runs `spec` (from parse_barrier or simulated_barrier; `auto` is resolved for the shape). Throws Error if a
/// rank leaves an episode before all have entered it, DeadlockError, ArgumentError("ranks").
BarrierRun simulate_barrier(const Machine& machine, const AlgorithmSpec& spec, const Shape& shape,
                            const BarrierOptions& options);

/// The spec that a text means on a simulated machine: as parse_barrier, but flags that own their lines are
/// stored without reading them where the text does not say and the algorithm offers it (rodchenko-2015
/// section 4).
AlgorithmSpec simulated_barrier(const std::string& text);

}  // namespace sim
}  // namespace phicoll
