#pragma once

// A collective that moves data, on a simulated machine: the ranks' buffers lie in the simulated memory behind
// the algorithm's own, so that every byte that is copied or combined takes its line's time.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/measure/work.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/sim/engine/simulation.hpp"
#include "phicoll/sim/running/sim_barrier.hpp"

namespace phicoll {
namespace sim {

/// Above so many bytes of buffers of all ranks they are ghost: state and time only.
constexpr std::size_t most_backed_bytes = std::size_t{64} << 20;
/// The host holds some 200 bytes for each simulated line.
constexpr std::size_t most_simulated_bytes = std::size_t{512} << 20;

struct CollectiveOptions {
  int episodes = 5;  ///< that are reported
  int warm_up = 1;   ///< before them
  bool window = false;
  /// Before each call (windows only), behind the writing of the data, the algorithm's flags and slots are
  /// dropped from all caches.
  bool evicted = false;
  /// Each rank writes what it contributes before each call, other bytes each time; else once at the start.
  bool fresh = true;
  int root = 0;
  Type type = Type::float32;
  Op op = Op::sum;
  bool exclusive = false;  ///< of a scan
  bool vector = false;     ///< the version with counts, all alike
  std::size_t ghost_above = most_backed_bytes;
  SimOptions simulation;  ///< its `wait` applies unless the spec names one
};

/// A run of `work` as barriers are run by `options`.
CollectiveOptions collective_options(const measure::Work& work, const BarrierOptions& options);

struct CollectiveRun : BarrierRun {
  AlgorithmSpec effective;  ///< `auto` resolved
  std::size_t bytes = 0;    ///< of the count argument
  std::size_t buffers = 0;  ///< bytes of all ranks' buffers
  bool fresh = true;
  /// How long each rank took to write its data before each reported episode: [episode * ranks + rank].
  std::vector<Cycles> prepared;
  bool timing_only = false;    ///< buffers were ghost; `twin_bytes` verified instead
  std::size_t twin_bytes = 0;  ///< the count argument of the backed twin that ran too
  int verified = 0;            ///< episodes whose results were compared on every rank, warm-up included

  std::vector<Cycles> started;  ///< when each rank left its last call before the reported ones
  /// Window: as BarrierRun's. Loop: the slowest rank's time for its reported calls and for writing its data
  /// before each, less the slowest rank's time for the writing alone, which the loop without the calls would
  /// take too. Ranks go through a loop each at its own pace (the root of a ring is calls ahead while its
  /// cells last), so that only the whole loop has a time; each call is given its share.
  std::vector<Cycles> times(bool window) const;
};

/// Runs a collective of `bytes` in its count argument (a message or a block). Throws Error naming rank and
/// byte if a result is wrong, DeadlockError, ArgumentError ("ranks", "size", "root", "algorithm").
CollectiveRun simulate_collective(const Machine& machine, Operation operation, const AlgorithmSpec& spec,
                                  const Shape& shape, std::size_t bytes, const CollectiveOptions& options);

/// What runs such a call: `auto` resolved, the values in effect for the shape. Throws ArgumentError if the
/// algorithm cannot serve it.
AlgorithmSpec effective_collective(const AlgorithmSpec& spec, const Shape& shape, const CallFacts& facts);

}  // namespace sim
}  // namespace phicoll
