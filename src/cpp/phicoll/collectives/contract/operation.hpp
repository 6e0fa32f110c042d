#pragma once

// The collective operations as data, a row each, from which names, signatures, buffers and sizes of calls
// follow.

#include <cstdint>
#include <type_traits>

namespace phicoll {

// clang-format off
/// The operations, from which all that goes by operation follows: ROW(operation, its name, MPI's names of the
/// plain call, of the call with counts and of the call without the rank's own elements, whether every rank
/// knows all counts, whether it has a root and an operator, what ranks send and receive).
#define PHICOLL_OPERATIONS(ROW)                                                                                             \
  ROW(barrier, "barrier", "barrier", nullptr, nullptr, true, false, false, Part::none, Part::none)                          \
  ROW(broadcast, "broadcast", "bcast", nullptr, nullptr, true, true, false, Part::root_block, Part::others_block)           \
  ROW(reduce, "reduce", "reduce", nullptr, nullptr, true, true, true, Part::block, Part::root_block)                        \
  ROW(allreduce, "allreduce", "allreduce", nullptr, nullptr, true, false, true, Part::block, Part::block)                   \
  ROW(gather, "gather", "gather", "gatherv", nullptr, false, true, false, Part::block, Part::root_blocks)                   \
  ROW(scatter, "scatter", "scatter", "scatterv", nullptr, false, true, false, Part::root_blocks, Part::block)               \
  ROW(allgather, "allgather", "allgather", "allgatherv", nullptr, true, false, false, Part::block, Part::blocks)            \
  ROW(alltoall, "alltoall", "alltoall", "alltoallv", nullptr, false, false, false, Part::blocks, Part::blocks)              \
  ROW(scan, "scan", "scan", nullptr, "exscan", true, false, true, Part::block, Part::block)                                 \
  ROW(reduce_scatter, "reduce_scatter_block", "reduce_scatter_block", "reduce_scatter", nullptr, true, false, true,         \
      Part::blocks, Part::block)
// clang-format on

enum class Operation : std::uint8_t {
#define PHICOLL_OPERATION(name, ...) name,
  PHICOLL_OPERATIONS(PHICOLL_OPERATION)
#undef PHICOLL_OPERATION
};

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

constexpr OperationRow operation_rows[] = {
#define PHICOLL_OPERATION(name, ...) {__VA_ARGS__},
    PHICOLL_OPERATIONS(PHICOLL_OPERATION)
#undef PHICOLL_OPERATION
};
constexpr int operations = sizeof operation_rows / sizeof *operation_rows;

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

/// Hands `use` the operation as a constant, so that what it does is compiled for each.
template <class Use>
void with_operation(Operation operation, Use&& use) {
  switch (operation) {
#define PHICOLL_OPERATION(name, ...) \
  case Operation::name:              \
    return use(std::integral_constant<Operation, Operation::name>());
    PHICOLL_OPERATIONS(PHICOLL_OPERATION)
#undef PHICOLL_OPERATION
  }
}

}  // namespace phicoll
