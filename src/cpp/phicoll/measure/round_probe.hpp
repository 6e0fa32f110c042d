#pragma once

// The limits of a round, measured beside its subjects.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/measure/copy_probe.hpp"
#include "phicoll/measure/point.hpp"
#include "phicoll/support/json.hpp"

namespace phicoll {
namespace measure {

/// What the probes of a round measured. Negative: not measured with these ranks.
struct RoundProbe {
  double local_ns = -1;            ///< an L1 hit
  double read_ns = -1;             ///< median over pairs of CPUs
  double pingpong_ns = -1;         ///< one way, median over pairs of CPUs
  double switch_ns = -1;           ///< from one rank to another on the same CPU
  std::vector<std::string> pairs;  ///< a JSON object for each pair of CPUs

  /// "same-core" if the lines that were read never left the core, otherwise "remote".
  const char* label() const;
  /// The fields of the round's record from `label` to `switch_ns`.
  void add_to(JsonObject& fields) const;
};

/// Runs the probes at `place`, a byte offset in the region. Stores the empty loop's time in `set.empty_ns`.
/// Throws SetFailure.
RoundProbe probe_round(LiveSet& set, std::size_t place, std::uint64_t seed);

/// The limit for an operation that moves data: the time to copy its bytes and do nothing else, by the fastest
/// way.
struct CopyLimit {
  Work work;
  std::uint64_t bytes = 0;    ///< moved by all ranks together
  double ns[copy_ways] = {};  ///< median of each way; negative: not possible here
  double best_ns() const;     ///< negative: no way is possible
  JsonObject json() const;
};

/// From this size on, every round measures the copy limit too.
constexpr std::uint64_t least_copy_bytes = 64 * 1024;

CopyLimit probe_copy(LiveSet& set, const Work& work, std::size_t place, std::uint64_t seed,
                     const StampClock& clock);

}  // namespace measure
}  // namespace phicoll
