#pragma once

// A parallel program (phicoll/programs) on a simulated machine: its barriers are the simulated algorithm's,
// and the items of shared memory that it reads and writes go through the simulated caches. Values are
// computed natively.

#include "phicoll/sim/running/sim_collectives.hpp"

namespace phicoll {
namespace sim {

/// Runs the first `warm_up + calls` outer iterations, and scales the mean of the last `calls` up to a whole
/// run: the one call that is reported. Throws Error if a rank left a barrier before all had entered it, or if
/// a value differs from a run without a machine; otherwise as simulate_collective.
CollectiveRun simulate_whole_program(const Machine& machine, const measure::Work& work,
                                     const AlgorithmSpec& spec, const Shape& shape,
                                     const CollectiveOptions& options);

}  // namespace sim
}  // namespace phicoll
