#pragma once

// What a subject is called with: an operation and, if it moves data, its size, buffers and elements; or a
// program that makes the calls.

#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/operation.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/programs/programs.hpp"

namespace phicoll {

struct ProgramCall;

namespace measure {

/// An operation and what it is called with when it is measured: like a ProgramCall, but without places or
/// counts of its own, and plain data, so that it can be copied to the step board.
struct Work {
  Operation operation = Operation::barrier;
  bool vector = false;     ///< a version with counts, which are all equal here
  bool exclusive = false;  ///< of a scan: without the rank's own elements
  bool fresh = true;  ///< the owner writes its send buffer before each call; otherwise once, before the first
  bool heap = false;  ///< both buffers lie in the group's shared heap, where all ranks reach them
  Type type = Type::float32;  ///< of reductions
  Op op = Op::sum;            ///< likewise
  /// Bytes of the count argument: the message, or one block of gather, scatter, allgather, alltoall and
  /// reduce_scatter.
  std::uint64_t bytes = 0;
  /// A program, whose collectives, of `operation`, are the subject. A call is then a whole run of it.
  programs::ProgramChoice program;

  bool moves_data() const { return !program.any() && phicoll::moves_data(operation); }
  /// Makes it a program, with its collective.
  void set_program(const programs::ProgramChoice& choice);
  /// A barrier alone: neither data nor a program around it.
  bool plain_barrier() const { return !moves_data() && !program.any(); }
  bool reduces() const { return !program.any() && phicoll::reduces(operation); }
  /// The count argument: elements in a reduction, bytes otherwise.
  std::uint64_t count() const { return reduces() ? bytes / bytes_of(type) : bytes; }
  /// The call's name: the operation's, or exscan, gatherv, scatterv, allgatherv, alltoallv, reduce_scatter;
  /// or a program's, with its class: "cg.S".
  std::string name() const;
  /// What every rank knows about such a call.
  CallFacts facts() const;
  /// "fresh", "reused", or "heap" (fresh, in the group's heap); "" for a barrier.
  const char* buffers() const { return !moves_data() ? "" : heap ? "heap" : fresh ? "fresh" : "reused"; }
  /// Sets one of these kinds. Throws ArgumentError("buffers").
  void set_buffers(const std::string& kind);
  /// All of it as text: "allreduce 4096 fresh float32 sum". Differs between works that differ.
  std::string text() const;
  /// For a person, before an algorithm's name: "allreduce 4096 fresh float32 sum by "; "" for a barrier.
  std::string before_algorithm() const { return plain_barrier() ? "" : text() + " by "; }
};

/// Bytes of one rank's send and receive buffer, 0 if it has none. The root is rank 0.
std::uint64_t send_bytes_of(const Work& work, int rank, int ranks);
std::uint64_t receive_bytes_of(const Work& work, int rank, int ranks);
/// The bytes that any algorithm for the operation must move between the ranks' buffers, including own blocks
/// copied from send to receive buffer. docs/measuring-collectives.md gives the reasons for each operation.
std::uint64_t moved_bytes(const Work& work, int ranks);

/// Bytes that must get from one rank's send buffer, at `from`, to another's receive buffer, at `to`. A
/// reduction combines them there with what it has from others.
struct Piece {
  int sender;
  int receiver;
  std::size_t from;
  std::size_t to;
  std::size_t bytes;
};
/// All pieces of such work, by sender and then by receiver. A rank's piece for itself is among them if it has
/// a place of its own in the result.
std::vector<Piece> pieces_of(const Work& work, int ranks);

/// The call of such work, with blocks that are all alike. Throws ArgumentError as check_work does.
ProgramCall program_call(const Work& work, int ranks, int root);

/// The names of all calls that can be measured: each one's Work::name().
std::vector<std::string> call_names();
/// The work for such a name or MPI's (`bcast`, `Gatherv`), with everything else at its default. Throws
/// ArgumentError("operation") with all names.
Work parse_call(const std::string& name);
/// The same for what a sweep can measure, which may also be a program: "cg", of its first class, or "cg.W".
Work parse_measured(const std::string& name);
/// The work described by these parts. A barrier ignores the bytes, and only reductions use the type and the
/// operator. Throws ArgumentError as parse_call, parse_type, parse_op and check_work do.
Work parse_work(const std::string& operation, std::uint64_t bytes, const std::string& type,
                const std::string& op);
/// Sizes such as `8,4K,1M,2G` (K: 1024), each once. Throws ArgumentError(argument).
std::vector<std::uint64_t> parse_sizes(const std::string& text, const char* argument = "sizes");
/// One such size. Throws ArgumentError("size").
std::uint64_t parse_size(const std::string& text);
/// Throws ArgumentError("size") for a reduction whose size is not a multiple of its element's, and
/// ArgumentError("operator") if the operator is not defined for the type.
void check_work(const Work& work);

}  // namespace measure
}  // namespace phicoll
