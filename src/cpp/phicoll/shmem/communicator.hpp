#pragma once

// OpenSHMEM and the rest of phicoll in one program.

#include <cstddef>
#include <memory>

#include "phicoll/group/communicator.hpp"

struct phicoll_shmem_team;

namespace phicoll {

class ProcessGroup;

namespace shmem {

struct Options {
  /// Bytes of each PE's symmetric heap; 0: SHMEM_SYMMETRIC_SIZE, or what the group's memory has room for, up
  /// to 256 MB.
  std::size_t heap_bytes = 0;
  /// Whether the program's globals and statics become symmetric.
  bool data_segment = true;
  /// The processes that are the PEs; null: those that a launcher started, or this one alone.
  std::shared_ptr<ProcessGroup> group;
};
/// Does what shmem_init does, with options; nothing if the library is already in use. Collective. After
/// shmem_finalize the heap is as large as it was at first, and the group the same. Throws ArgumentError and
/// ResourceError; all PEs give the same.
void init(const Options& options);
/// Raises the thread level to `requested` if it is lower, and returns it.
int provide_threads(int requested);

/// From now on, and before shmem_init at best, the functions of shmem.h check every argument and throw what
/// is wrong, ArgumentError, ResourceError, BrokenGroupError or another Error, where they would end the
/// program. For callers in C++.
void throw_errors();

/// The communicator of SHMEM_TEAM_WORLD, whose ranks are the PEs. Its collectives and those of shmem.h may
/// follow each other in any order that is the same on all PEs. Throws Error before shmem_init and after
/// shmem_finalize.
Communicator& communicator();
/// The same of a team of shmem.h (shmem_team_t). Throws ArgumentError("team") too, if errors are thrown.
Communicator& communicator(phicoll_shmem_team* team);

/// Keeps the symmetric memory of all PEs mapped here, also after shmem_finalize. Throws as communicator().
std::shared_ptr<const void> mapped_memory();

}  // namespace shmem
}  // namespace phicoll
