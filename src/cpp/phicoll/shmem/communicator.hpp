#pragma once

// OpenSHMEM and the rest of phicoll in one program.

#include <cstddef>

#include "phicoll/group/communicator.hpp"

namespace phicoll {
namespace shmem {

struct Options {
  /// Bytes of each PE's symmetric heap; 0: SHMEM_SYMMETRIC_SIZE, or what the group's memory has room for, up to 256 MB.
  std::size_t heap_bytes = 0;
  /// Whether the program's globals and statics become symmetric.
  bool data_segment = true;
};
/// As shmem_init, with options. Collective. Throws ArgumentError and ResourceError; all PEs give the same.
void init(const Options& options);

/// The communicator of SHMEM_TEAM_WORLD, whose ranks are the PEs. Its collectives and those of shmem.h may follow each other
/// in any order that is the same on all PEs. Throws Error before shmem_init and after shmem_finalize.
Communicator& communicator();

}  // namespace shmem
}  // namespace phicoll
