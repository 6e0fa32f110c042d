#pragma once

// A Program on a simulated machine and on the counting port.

#include <vector>

#include "phicoll/collectives/program.hpp"
#include "phicoll/measure/work.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/sim/counting/count_barrier.hpp"
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
/// The same without a machine: each call is an episode of its own. Delays say nothing here.
CountedProgram run_program_counted(const Program& program, const Shape& shape);

/// Buffers of all ranks together take no more where calls are counted.
constexpr std::size_t most_counted_bytes = std::size_t{64} << 20;

/// What a call does in its steady state: the third of three equal ones. Throws ArgumentError ("size",
/// "algorithm"), Error if a result is wrong.
Counts count_collective(const measure::Work& work, const AlgorithmSpec& spec, const Shape& shape);
/// The same for an operation with blocks that are all alike, `bytes` as in simulate_collective. Throws
/// ArgumentError("root") too.
Counts count_collective(Operation operation, const AlgorithmSpec& spec, const Shape& shape, std::size_t bytes,
                        Type type = Type::float32, Op op = Op::sum, int root = 0);

}  // namespace sim
}  // namespace phicoll
