#pragma once

// What a subject is called with: an operation, and for those that move data its size, its buffers, its
// elements.

#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/operation.hpp"
#include "phicoll/collectives/operators/operators.hpp"

namespace phicoll {
namespace measure {

/// Plain data, so that it can travel on the step board.
struct Work {
  Operation operation = Operation::barrier;
  bool vector = false;     ///< a version with counts, all alike here
  bool exclusive = false;  ///< of a scan: without the rank's own elements
  bool fresh = true;       ///< the owner writes its send buffer before each call; else once, before the first
  bool heap = false;       ///< both buffers lie in the group's shared heap, where all ranks reach them
  Type type = Type::float32;  ///< of reductions
  Op op = Op::sum;            ///< likewise
  /// Of the count argument: the message, or one block of gather, scatter, allgather, alltoall and
  /// reduce_scatter.
  std::uint64_t bytes = 0;

  bool moves_data() const { return phicoll::moves_data(operation); }
  bool reduces() const { return phicoll::reduces(operation); }
  /// Elements of reductions, bytes of the others.
  std::uint64_t count() const { return reduces() ? bytes / bytes_of(type) : bytes; }
  /// The operation, or the call's own name: exscan, gatherv, scatterv, allgatherv, alltoallv,
  /// reduce_scatter.
  std::string name() const;
  /// What every rank knows of such a call.
  CallFacts facts() const;
  /// "fresh", "reused", or "heap": fresh, in the group's heap; "" for a barrier.
  const char* buffers() const { return !moves_data() ? "" : heap ? "heap" : fresh ? "fresh" : "reused"; }
  /// One of these. Throws ArgumentError("buffers").
  void set_buffers(const std::string& kind);
  /// All of it, different for different work: "allreduce 4096 fresh float32 sum".
  std::string text() const;
};

/// Of one rank's send and receive buffer; 0 where it has none. Roots are rank 0.
std::uint64_t send_bytes_of(const Work& work, int rank, int ranks);
std::uint64_t receive_bytes_of(const Work& work, int rank, int ranks);
/// The bytes that any way to do the operation must move between memories of ranks, own blocks that are copied
/// from send to receive included (docs/measuring-collectives.md says why for each).
std::uint64_t moved_bytes(const Work& work, int ranks);

/// The names of all that can be measured: Work::name() of each.
std::vector<std::string> call_names();
/// Work of such a name, or of MPI's (`bcast`, `Gatherv`), the rest left to be said. Throws
/// ArgumentError("operation") with all names.
Work parse_call(const std::string& name);
/// One call by the names of its parts: a barrier has no bytes, and only reductions have a type and an
/// operator. Throws ArgumentError as parse_call, parse_type, parse_op and check_work.
Work parse_work(const std::string& operation, std::uint64_t bytes, const std::string& type,
                const std::string& op);
/// Sizes such as `8,4K,1M,2G` (K: 1024), each once. Throws ArgumentError(argument).
std::vector<std::uint64_t> parse_sizes(const std::string& text, const char* argument = "sizes");
/// One such size. Throws ArgumentError("size").
std::uint64_t parse_size(const std::string& text);
/// Throws ArgumentError("size") for a reduction whose size is no multiple of its elements, ("operator") for a
/// pairing that is not defined.
void check_work(const Work& work);

}  // namespace measure
}  // namespace phicoll
