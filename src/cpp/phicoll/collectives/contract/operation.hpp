#pragma once

// The collective operations as data, a row each, from which names, signatures, buffers and sizes of calls
// follow.

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

/// How much of a call's data a rank sends or receives. `block` is what the count argument says: a message or
/// one block. `blocks` is one block for each rank.
enum class Part : std::uint8_t { none, block, blocks, root_block, root_blocks, others_block };

/// One operation. A vector version is its operation with counts that differ; that of reduce_scatter_block is
/// called reduce_scatter, as in MPI.
struct OperationRow {
  const char* name;
  const char* mpi_name;        ///< the plain call's name
  const char* vector_name;     ///< the name of the call with counts, or null
  const char* exclusive_name;  ///< the name of the call without the rank's own elements, or null
  bool counts_known;           ///< whether every rank knows all counts of the vector version
  bool rooted;
  bool reduces;  ///< combines elements by an operator
  Part sends;
  Part receives;
};

constexpr OperationRow operation_rows[operations] = {
    {"barrier", "barrier", nullptr, nullptr, true, false, false, Part::none, Part::none},
    {"broadcast", "bcast", nullptr, nullptr, true, true, false, Part::root_block, Part::others_block},
    {"reduce", "reduce", nullptr, nullptr, true, true, true, Part::block, Part::root_block},
    {"allreduce", "allreduce", nullptr, nullptr, true, false, true, Part::block, Part::block},
    {"gather", "gather", "gatherv", nullptr, false, true, false, Part::block, Part::root_blocks},
    {"scatter", "scatter", "scatterv", nullptr, false, true, false, Part::root_blocks, Part::block},
    {"allgather", "allgather", "allgatherv", nullptr, true, false, false, Part::block, Part::blocks},
    {"alltoall", "alltoall", "alltoallv", nullptr, false, false, false, Part::blocks, Part::blocks},
    {"scan", "scan", nullptr, "exscan", true, false, true, Part::block, Part::block},
    {"reduce_scatter_block", "reduce_scatter_block", "reduce_scatter", nullptr, true, false, true,
     Part::blocks, Part::block},
};

constexpr const OperationRow& row_of(Operation operation) {
  return operation_rows[static_cast<int>(operation)];
}
constexpr const char* to_string(Operation operation) {
  return row_of(operation).name;
}
constexpr bool moves_data(Operation operation) {
  return row_of(operation).receives != Part::none;
}
constexpr bool reduces(Operation operation) {
  return row_of(operation).reduces;
}
/// Whether each rank sends a block of its own to each other one.
constexpr bool exchanges_pairs(Operation operation) {
  return row_of(operation).sends == Part::blocks && row_of(operation).receives == Part::blocks;
}
/// The number of blocks in such a part, on the root or on another rank.
constexpr int blocks_of_part(Part part, bool is_root, int ranks) {
  return part == Part::block || (part == Part::root_block && is_root) ||
                 (part == Part::others_block && !is_root)
             ? 1
         : part == Part::blocks || (part == Part::root_blocks && is_root) ? ranks
                                                                          : 0;
}

}  // namespace phicoll
