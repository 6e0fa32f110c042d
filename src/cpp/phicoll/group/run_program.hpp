#pragma once

// A Program on threads and on processes of this machine, through the calls that users make.

#include <cstdint>
#include <vector>

#include "phicoll/collectives/verifying/program.hpp"
#include "phicoll/group/options.hpp"

namespace phicoll {

/// Runs the calls on `program.ranks` threads and returns every rank's buffers as they are then. Throws
/// ArgumentError for what Program::check refuses, Error if a byte around a buffer was written,
/// BrokenGroupError.
std::vector<Buffers> run_program_by_threads(const Program& program, const GroupOptions& options);
/// The same on forked processes, each with buffers of its own, in the group's heap where bit `rank` of
/// `in_heap` is set. Call it while this process has one thread.
std::vector<Buffers> run_program_by_processes(const Program& program, const GroupOptions& options,
                                              std::uint64_t in_heap = 0);

}  // namespace phicoll
