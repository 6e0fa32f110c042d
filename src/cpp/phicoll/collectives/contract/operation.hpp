#pragma once

// The collective operations. A vector version (gatherv and so on) is its operation with counts that differ;
// that of reduce_scatter_block is called reduce_scatter, as in MPI.

#include <cstdint>

namespace phicoll {

enum class Operation : std::uint8_t {
  barrier,
  broadcast,
  reduce,
  allreduce,
  gather,
  scatter,
  allgather,
  alltoall,
  scan,
  reduce_scatter
};

constexpr int operations = 10;

inline const char* to_string(Operation operation) {
  static const char* const names[operations] = {
      "barrier", "broadcast", "reduce",   "allreduce", "gather",
      "scatter", "allgather", "alltoall", "scan",      "reduce_scatter_block"};
  return names[static_cast<int>(operation)];
}

}  // namespace phicoll
