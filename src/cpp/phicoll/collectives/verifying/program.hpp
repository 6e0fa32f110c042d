#pragma once

// A Program: a list of collectives that all ranks make one after the other, with their buffers and the
// contents that these must end with. For tests and for checking results, never for speed. A program is data,
// so the same one runs by threads, by processes, on a simulated machine and on the counting port, and a plain
// computation says what its results are. Tests draw programs at random; simulated and measured runs check
// their calls by the same computation.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/own_blocks.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/collectives/operators/operators.hpp"

namespace phicoll {

/// One collective for all ranks, whatever they are and wherever their memory is; a Call is one rank's. Its
/// arguments mean what they mean to a Communicator.
struct ProgramCall {
  Operation operation = Operation::barrier;
  std::string algorithm = "auto";
  int root = 0;
  bool exclusive = false;  ///< of a scan
  Type type = Type::uint8;
  Op op = Op::bxor;  ///< of a reduction
  /// The message or a block: bytes, or elements of a reduction.
  std::size_t count = 0;
  /// Not empty: a vector version, of block i or, in an alltoall, of what `from` sends to `to` at
  /// [from * ranks + to].
  std::vector<std::size_t> counts;
  std::size_t gap = 0;  ///< bytes between the blocks of a vector version; reduce_scatter has none
  bool in_place = false;
  int send = 0, receive = 1;                ///< which buffers
  std::size_t send_at = 0, receive_at = 0;  ///< where in them, in bytes
  /// Not 0: each rank writes what it contributes anew before the call, drawn from this seed; elements of a
  /// reduction get values whose results are exact in any order.
  std::uint64_t fill = 0;
  /// Turns that each rank takes before the call; empty: none.
  std::vector<int> delays;
};

/// What a rank contributes to a call: `bytes` of buffer `buffer`, from `at`.
struct Contribution {
  int buffer = 0;
  std::size_t at = 0;
  std::size_t bytes = 0;
};

/// A part of what a call leaves in a rank's receive buffer: `bytes` at `at`. They are byte `from` and on of
/// what the ranks `first` to `last` contribute, reduced in this order.
struct OutcomePart {
  std::size_t at = 0;
  std::size_t bytes = 0;
  int first = 0, last = 0;
  std::size_t from = 0;
};

/// All that a call leaves at `rank`, for every operation: what results are checked against, in programs and
/// in measuring.
std::vector<OutcomePart> outcome_of(const ProgramCall& call, int rank, int ranks);

/// Writes an element that holds small whole numbers; `second` is a complex number's imaginary part or a
/// pair's index.
void write_element(Type type, int value, int second, unsigned char* to);

/// A rank's buffers.
using Buffers = std::vector<std::vector<unsigned char>>;

struct Program {
  int ranks = 1;
  std::uint64_t seed = 1;            ///< of what buffers hold at first
  std::vector<std::size_t> buffers;  ///< bytes of each, the same on every rank
  std::vector<ProgramCall> calls;

  /// Throws ArgumentError naming the call's number and argument: a range outside a buffer, overlapping
  /// ranges, a root, algorithm, operator or pairing that does not exist, counts for another number of ranks,
  /// floating sums without `fill` (their result would depend on the order).
  void check() const;
  /// What the buffers of each rank hold before and after the calls, by a computation without algorithms.
  std::vector<Buffers> initial() const;
  std::vector<Buffers> expected() const;

  /// Writes the results of a call at `receive(rank)`, from what every rank contributes.
  void outcome(const ProgramCall& call, const std::vector<std::vector<unsigned char>>& given,
               const std::function<unsigned char*(int rank)>& receive) const;
  /// The ranges of a rank's buffers that a call reads and writes, in bytes. A broadcast's message is received
  /// on the root too.
  std::size_t send_bytes(const ProgramCall& call, int rank) const;
  std::size_t receive_bytes(const ProgramCall& call, int rank) const;
  /// The call as an algorithm gets it on one rank; `send` and `receive` are where its ranges begin. Refers to
  /// `blocks` and `send_blocks`, whose arrays it fills. An alltoall in place has nothing to send: the caller
  /// copies it from `receive` first.
  Call bind(const ProgramCall& call, int rank, Data send, Data receive, OwnBlocks* blocks,
            OwnBlocks* send_blocks) const;
  Contribution contribution(const ProgramCall& call, int rank) const;
  /// What `fill` writes there.
  std::vector<unsigned char> filling(const ProgramCall& call, int rank) const;
  /// The same into a buffer of contribution().bytes.
  void filling(const ProgramCall& call, int rank, unsigned char* into) const;
  CallFacts facts(const ProgramCall& call) const;
  Operator operator_of(const ProgramCall& call) const;
  std::string describe(const ProgramCall& call) const;
};

/// Where blocks of these sizes begin that lie `gap` apart.
std::vector<std::size_t> block_places(const std::vector<std::size_t>& counts, std::size_t gap);

/// The counts of a vector version whose blocks are all alike.
std::vector<std::size_t> equal_counts(Operation operation, int ranks, std::size_t count);

/// Where a rank's buffers lie in one piece of memory: each between guard zones, at a multiple of 128 bytes;
/// the last part is for data of alltoalls in place.
class ProgramLayout {
 public:
  static constexpr std::size_t guard = 128;

  explicit ProgramLayout(const Program& program);

  std::size_t bytes() const { return bytes_; }
  std::size_t at(int buffer) const { return at_[static_cast<std::size_t>(buffer)]; }
  /// In a rank's `memory`; also where a buffer that does not exist would be.
  Data place(unsigned char* memory, int buffer, std::size_t offset) const {
    const auto b = static_cast<std::size_t>(buffer);
    return Data{b < at_.size() ? memory + at_[b] + offset : nullptr};
  }
  std::size_t scratch() const { return scratch_; }
  /// Guard zones and initial content.
  void prepare(const Program& program, int rank, unsigned char* memory) const;
  /// The buffers as they are. Throws Error naming rank, buffer and byte if a guard zone was written.
  Buffers take(const Program& program, int rank, const unsigned char* memory) const;

 private:
  std::vector<std::size_t> at_;
  std::size_t scratch_ = 0;
  std::size_t bytes_ = 0;
};

/// Throws Error naming rank, buffer and byte of the first difference.
void check_same(const std::vector<Buffers>& expected, const std::vector<Buffers>& found);

}  // namespace phicoll
