#pragma once

// How Python's OpenSHMEM calls wait: without the interpreter's lock, and with an eye on signals.

#include <memory>
#include <utility>

#include "bindings/communicator_handle.hpp"
#include "bindings/shmem_arguments.hpp"
#include "phicoll/shmem/communicator.hpp"

namespace phicoll {
namespace bindings {

/// The communicator of all PEs, as Python holds it: phicoll.COMM_WORLD's, or one of this PE alone. Throws
/// Error before init and after finalize.
CommunicatorHandle& shmem_world();

/// A call that waits for one other PE, or for a word. Threads may be in several at once.
template <class F>
void shmem_wait_call(F f) {
  const Waiting waiting(Waiting::GiveUp::to_wait);
  f();
}

/// A collective call of `team` on about `bytes` bytes. One that a signal's handler leaves half done breaks
/// the group.
template <class F>
void shmem_collective(shmem_team_t team, std::size_t bytes, F f) {
  CommunicatorHandle& world = shmem_world();
  if (team == SHMEM_TEAM_WORLD || team == SHMEM_TEAM_SHARED) {
    world.call(bytes, [&](Communicator&) { f(); });
    return;
  }
  try {
    shmem_wait_call(f);
  } catch (const py::error_already_set& error) {
    world.fail_alone(error);
    throw;
  }
}

}  // namespace bindings
}  // namespace phicoll
