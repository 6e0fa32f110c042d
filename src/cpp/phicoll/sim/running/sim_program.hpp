#pragma once

// A Program on a simulated machine and on the counting port.

#include <string>
#include <vector>

#include "phicoll/collectives/verifying/program.hpp"
#include "phicoll/measure/work.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/sim/counting/counts.hpp"
#include "phicoll/sim/engine/simulation.hpp"
#include "phicoll/sim/machine/machine.hpp"

namespace phicoll {
namespace sim {

struct ProgramRun {
  std::vector<Buffers> buffers;           ///< of every rank, after the last call
  Cycles end = 0;                         ///< when the last rank had returned
  std::vector<AlgorithmSpec> algorithms;  ///< that served each call, `auto` resolved
};

/// Throws ArgumentError for what Program::check refuses, Error if a byte around a buffer was written,
/// DeadlockError. `shape` has the program's number of ranks.
ProgramRun run_program_simulated(const Program& program, const Machine& machine, const Shape& shape,
                                 const SimOptions& options);

struct CountedProgram {
  std::vector<Buffers> buffers;
  std::vector<Counts> counts;  ///< of each call, all ranks entering it together
  std::vector<AlgorithmSpec> algorithms;
};
/// The same without a machine: a call begins when all ranks have left the last one. Delays say nothing here.
CountedProgram run_program_counted(const Program& program, const Shape& shape);

/// Buffers of all ranks together take no more where calls are counted.
constexpr std::size_t most_counted_bytes = std::size_t{64} << 20;

/// What a call does in its steady state: the third of three equal ones; `auto` is resolved. Throws
/// ArgumentError ("ranks", "size", "root", "algorithm"); Error if a result is wrong, if the ranks wait for
/// each other for ever (naming them), if an algorithm writes outside its memory, or if a rank leaves a
/// barrier before all have entered it.
Counts count_collective(const measure::Work& work, const AlgorithmSpec& spec, const Shape& shape,
                        int root = 0);

/// The contexts of a simulated machine, by load_machine's text, with which calls are counted: placed as
/// place_on_machine does. Throws ArgumentError, as that does and as check_serves.
Shape shape_that_serves(const std::string& machine, const measure::Work& work, const AlgorithmSpec& spec,
                        int ranks, const std::string& placement);

/// The counts of each of the first `calls` of a barrier, which ranks enter in the order of `order`, in rank
/// order if it is empty.
std::vector<Counts> count_barrier_calls(const AlgorithmSpec& spec, const Shape& shape, int calls,
                                        const std::vector<int>& order = {});

}  // namespace sim
}  // namespace phicoll
