#pragma once

// A collective on a simulated machine. The ranks' buffers lie in the simulated memory after the algorithm's
// own, so that every byte which is copied or combined takes its line's time.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/measure/work.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/sim/engine/simulation.hpp"

namespace phicoll {
namespace sim {

/// Above this many bytes of all ranks' buffers these are ghosts, with state and time only.
constexpr std::size_t most_backed_bytes = std::size_t{64} << 20;
/// A simulation takes about 130 bytes of the host's memory for each simulated line, so at most 4 GB.
constexpr std::size_t most_simulated_bytes = std::size_t{2} << 30;

struct CollectiveOptions {
  int calls = 20;   ///< that are reported
  int warm_up = 2;  ///< before them, for the lines to be where they always are
  /// Back to back (`loop`), or each call from rest with the ranks' entries drawn within
  /// `SimOptions::start_skew` cycles of each other (`window`).
  bool window = false;
  Cycles delay = 0;  ///< for which each rank of a loop waits before each call
  /// Before each call (windows only), after the writing of the data, the algorithm's flags and slots are
  /// dropped from all caches, outside of the time.
  bool evicted = false;
  bool counts_reported = false;  ///< fill in `counted_before` and its times
  int root = 0;
  std::atomic<std::int64_t>* finished = nullptr;  ///< counts the calls that ranks have finished
  std::size_t ghost_above = most_backed_bytes;
  SimOptions simulation;  ///< its `wait` applies unless the spec names one
};

struct CollectiveRun {
  measure::Work work;
  AlgorithmSpec effective;  ///< `auto` resolved
  int ranks = 0;
  int calls = 0;
  std::size_t buffers = 0;  ///< bytes of all ranks' buffers
  /// When each rank entered and left each reported call, in cycles: [call * ranks + rank].
  std::vector<Cycles> entry, exit;
  /// How long each rank took to write its data before each reported call: likewise.
  std::vector<Cycles> prepared;
  std::vector<Cycles> started;  ///< when each rank left its last call before the reported ones
  bool timing_only = false;     ///< buffers were ghost; `twin_bytes` verified instead
  std::size_t twin_bytes = 0;   ///< the count argument of the backed twin that ran too
  /// Calls whose results were compared on every rank, warm-up included; of a barrier the reported ones, in
  /// which no rank left before all had entered.
  int verified = 0;
  Cycles delay = 0;               ///< of ranks before each call of the loop; the times do not include it
  int iterations = 0;             ///< of a program: outer iterations of a whole run
  std::vector<Cycles> iteration;  ///< likewise: the time of each that was simulated
  bool cut = false;               ///< ended with the log of one call: the calls after it are not all there
  Counters counters;              ///< of the whole run, warm-up included
  std::unique_ptr<Log> log;
  /// If asked for: what had been counted when the first rank entered the first reported call, then and at the
  /// end.
  Counters counted_before;
  Cycles counted_from = 0, counted_to = 0;

  /// The time of each reported call in cycles.
  /// - Window: from the last entry to the last exit.
  /// - Loop of barriers: from the last rank's exit of one call to that of the next, less the delay.
  /// - Loop of calls that move data: the slowest rank's time for its reported calls and for writing its data
  ///   before each, less the slowest rank's time for that writing alone. Ranks go through the loop at their
  ///   own pace (a ring's root runs ahead while its cells last), so only the loop has a time; calls share it
  ///   equally.
  std::vector<Cycles> times(bool window) const;
};

/// Throws ArgumentError ("algorithm", "size") as simulate_collective does where the machine lacks what the
/// algorithm needs: with local stores, coherent memory and room.
void check_serves(const Machine& machine, const measure::Work& work, const AlgorithmSpec& spec,
                  const Shape& shape);

/// Runs `work` by `spec`, a program as simulate_whole_program does; `auto` is resolved as simulated_in_effect
/// says. Throws Error naming rank and byte if a result is wrong, naming ranks and cycles if one left a
/// barrier before all had entered it; DeadlockError; ArgumentError ("ranks", "size", "root", "algorithm").
CollectiveRun simulate_collective(const Machine& machine, const measure::Work& work,
                                  const AlgorithmSpec& spec, const Shape& shape,
                                  const CollectiveOptions& options);

}  // namespace sim
}  // namespace phicoll
