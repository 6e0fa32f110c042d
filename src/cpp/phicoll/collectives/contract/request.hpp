#pragma once

// A collective call as its caller describes it. All that calls collectives makes one of these: the methods of
// a Communicator, calls that are begun, Python, the preloaded libraries, OpenSHMEM. What it means on a rank
// follows from its operation's row.

#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/operation.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/errors.hpp"

namespace phicoll {

// clang-format off
/// The calls, from which a Communicator's methods follow: CALL(name, operation, whether it is the version
/// with counts, whether it is the one without the rank's own elements, the kind of its last arguments, the
/// other parameters, these as arguments, the same of a request `r`).
#define PHICOLL_CALLS(CALL)                                                                                  \
  CALL(broadcast, broadcast, false, false, moving, (void* buffer, std::size_t bytes, int root),              \
       (buffer, bytes, root), (r.receive, r.count, r.root))                                                  \
  CALL(reduce, reduce, false, false, combining,                                                              \
       (const void* send, void* receive, std::size_t count, const Operator& op, int root),                   \
       (send, receive, count, op, root), (r.send, r.receive, r.count, *r.op, r.root))                        \
  PHICOLL_CALL_COMBINING(CALL, allreduce, allreduce, false)                                                  \
  PHICOLL_CALL_COMBINING(CALL, scan, scan, false)                                                            \
  PHICOLL_CALL_COMBINING(CALL, exscan, scan, true)                                                           \
  PHICOLL_CALL_COMBINING(CALL, reduce_scatter_block, reduce_scatter, false)                                  \
  CALL(reduce_scatter, reduce_scatter, true, false, combining,                                               \
       (const void* send, void* receive, Sizes counts, const Operator& op), (send, receive, counts, op),     \
       (r.send, r.receive, r.send_blocks.counts, *r.op))                                                     \
  PHICOLL_CALL_ROOTED(CALL, gather)                                                                          \
  PHICOLL_CALL_ROOTED(CALL, scatter)                                                                         \
  PHICOLL_CALL_EXCHANGING(CALL, allgather)                                                                   \
  PHICOLL_CALL_EXCHANGING(CALL, alltoall)                                                                    \
  CALL(gatherv, gather, true, false, moving,                                                                 \
       (const void* send, std::size_t send_bytes, void* receive, Sizes counts, Sizes displacements, int root), \
       (send, send_bytes, receive, counts, displacements, root),                                             \
       (r.send, r.count, r.receive, r.receive_blocks.counts, r.receive_blocks.displacements, r.root))        \
  CALL(scatterv, scatter, true, false, moving,                                                               \
       (const void* send, Sizes counts, Sizes displacements, void* receive, std::size_t receive_bytes, int root), \
       (send, counts, displacements, receive, receive_bytes, root),                                          \
       (r.send, r.send_blocks.counts, r.send_blocks.displacements, r.receive, r.count, r.root))              \
  CALL(allgatherv, allgather, true, false, moving,                                                           \
       (const void* send, std::size_t send_bytes, void* receive, Sizes counts, Sizes displacements),         \
       (send, send_bytes, receive, counts, displacements),                                                   \
       (r.send, r.count, r.receive, r.receive_blocks.counts, r.receive_blocks.displacements))                \
  CALL(alltoallv, alltoall, true, false, moving,                                                             \
       (const void* send, Sizes send_counts, Sizes send_displacements, void* receive, Sizes counts,          \
        Sizes displacements),                                                                                \
       (send, send_counts, send_displacements, receive, counts, displacements),                              \
       (r.send, r.send_blocks.counts, r.send_blocks.displacements, r.receive, r.receive_blocks.counts,       \
        r.receive_blocks.displacements))
#define PHICOLL_CALL_COMBINING(CALL, name, operation, exclusive)                                             \
  CALL(name, operation, false, exclusive, combining,                                                         \
       (const void* send, void* receive, std::size_t count, const Operator& op),                             \
       (send, receive, count, op), (r.send, r.receive, r.count, *r.op))
#define PHICOLL_CALL_ROOTED(CALL, name)                                                                      \
  CALL(name, name, false, false, moving, (const void* send, void* receive, std::size_t bytes, int root),     \
       (send, receive, bytes, root), (r.send, r.receive, r.count, r.root))
#define PHICOLL_CALL_EXCHANGING(CALL, name)                                                                  \
  CALL(name, name, false, false, moving, (const void* send, void* receive, std::size_t bytes),               \
       (send, receive, bytes), (r.send, r.receive, r.count))
// clang-format on
/// What stands in parentheses in a row; and the last arguments of each kind: with what they are if not given,
/// as parameters, as arguments, and of a request.
#define PHICOLL_LISTED(...) __VA_ARGS__
#define PHICOLL_GIVEN_moving By algorithm = nullptr, unsigned type = 0
#define PHICOLL_GIVEN_combining By algorithm = nullptr
#define PHICOLL_TAKEN_moving By algorithm, unsigned type
#define PHICOLL_TAKEN_combining By algorithm
#define PHICOLL_PASSED_moving algorithm, type
#define PHICOLL_PASSED_combining algorithm
#define PHICOLL_OF_REQUEST_moving r.algorithm, r.type
#define PHICOLL_OF_REQUEST_combining r.algorithm

/// Refers to its operator, algorithm, counts and displacements. The functions that make one take the
/// arguments of the Communicator's method of that name; inline, so that a call whose operation is known when
/// it is compiled has no request in memory.
struct Request {
  Operation operation = Operation::barrier;
  bool vector = false;     ///< the version with counts; reduce_scatter is that of reduce_scatter_block
  bool exclusive = false;  ///< a scan without the rank's own elements
  unsigned type = 0;       ///< of a call without an operator: the type of its bytes, 0 for plain bytes
  int root = 0;
  const void* send = nullptr;  ///< null: in place
  void* receive = nullptr;     ///< a broadcast's message, on the root too; null in a scatter: in place
  /// The message or one block: elements of a reduction, else bytes. With counts: the rank's own block, where
  /// `send_blocks` or `receive_blocks` describe the other side alone.
  std::size_t count = 0;
  const Operator* op = nullptr;
  Blocks send_blocks;                        ///< of scatterv, on the root, alltoallv and reduce_scatter
  Blocks receive_blocks;                     ///< of gatherv, on the root, allgatherv and alltoallv
  const AlgorithmSpec* algorithm = nullptr;  ///< null: the selected one

  using By = const AlgorithmSpec*;
  using Sizes = const std::size_t*;
  /// Copies the root's `bytes` at `buffer` to every rank's buffer.
  [[gnu::always_inline]] static inline Request broadcast(void* buffer, std::size_t bytes, int root,
                                                         By algorithm = nullptr, unsigned type = 0) {
    return moving(Operation::broadcast, nullptr, buffer, bytes, root, algorithm, type);
  }
  /// receive[i] on the root = send[i] of rank 0 op send[i] of rank 1 ... The others' `receive` is ignored. In
  /// place on the root only.
  [[gnu::always_inline]] static inline Request reduce(const void* send, void* receive, std::size_t count,
                                                      const Operator& op, int root, By algorithm = nullptr) {
    Request made = reducing(Operation::reduce, send, receive, count, op, algorithm);
    made.root = root;
    return made;
  }
  /// Reduces as `reduce` does, with the result on every rank.
  [[gnu::always_inline]] static inline Request allreduce(const void* send, void* receive, std::size_t count,
                                                         const Operator& op, By algorithm = nullptr) {
    return reducing(Operation::allreduce, send, receive, count, op, algorithm);
  }
  /// Reduces over ranks 0 to this one.
  [[gnu::always_inline]] static inline Request scan(const void* send, void* receive, std::size_t count,
                                                    const Operator& op, By algorithm = nullptr) {
    return reducing(Operation::scan, send, receive, count, op, algorithm);
  }
  /// Reduces over ranks 0 to the one before this; rank 0's `receive` stays as it was.
  [[gnu::always_inline]] static inline Request exscan(const void* send, void* receive, std::size_t count,
                                                      const Operator& op, By algorithm = nullptr) {
    Request made = reducing(Operation::scan, send, receive, count, op, algorithm);
    made.exclusive = true;
    return made;
  }
  /// Reduces block i of `send`, of `count` elements, over all ranks to rank i.
  [[gnu::always_inline]] static inline Request reduce_scatter_block(const void* send, void* receive,
                                                                    std::size_t count, const Operator& op,
                                                                    By algorithm = nullptr) {
    return reducing(Operation::reduce_scatter, send, receive, count, op, algorithm);
  }
  /// Reduces block i of `send`, of counts[i] elements, over all ranks to rank i.
  [[gnu::always_inline]] static inline Request reduce_scatter(const void* send, void* receive, Sizes counts,
                                                              const Operator& op, By algorithm = nullptr) {
    Request made = reducing(Operation::reduce_scatter, send, receive, 0, op, algorithm);
    return with_counts(made, Blocks{counts, nullptr}, Blocks());
  }
  /// Gathers blocks of `bytes`, in rank order, at the root's `receive`. In place on the root only, as in
  /// scatter.
  [[gnu::always_inline]] static inline Request gather(const void* send, void* receive, std::size_t bytes,
                                                      int root, By algorithm = nullptr, unsigned type = 0) {
    return moving(Operation::gather, send, receive, bytes, root, algorithm, type);
  }
  /// Gives rank i block i of the root's `send`.
  [[gnu::always_inline]] static inline Request scatter(const void* send, void* receive, std::size_t bytes,
                                                       int root, By algorithm = nullptr, unsigned type = 0) {
    return moving(Operation::scatter, send, receive, bytes, root, algorithm, type);
  }
  /// Gathers blocks of `bytes`, in rank order, at every rank's `receive`.
  [[gnu::always_inline]] static inline Request allgather(const void* send, void* receive, std::size_t bytes,
                                                         By algorithm = nullptr, unsigned type = 0) {
    return moving(Operation::allgather, send, receive, bytes, 0, algorithm, type);
  }
  /// Gives rank i block i of every rank's `send`, in rank order.
  [[gnu::always_inline]] static inline Request alltoall(const void* send, void* receive, std::size_t bytes,
                                                        By algorithm = nullptr, unsigned type = 0) {
    return moving(Operation::alltoall, send, receive, bytes, 0, algorithm, type);
  }
  /// Gathers as `gather` does; block i has counts[i] bytes and begins at byte displacements[i] of the buffer.
  /// The other vector versions describe their blocks likewise.
  [[gnu::always_inline]] static inline Request gatherv(const void* send, std::size_t send_bytes,
                                                       void* receive, Sizes counts, Sizes displacements,
                                                       int root, By algorithm = nullptr, unsigned type = 0) {
    return with_counts(moving(Operation::gather, send, receive, send_bytes, root, algorithm, type), Blocks(),
                       Blocks{counts, displacements});
  }
  [[gnu::always_inline]] static inline Request scatterv(const void* send, Sizes counts, Sizes displacements,
                                                        void* receive, std::size_t receive_bytes, int root,
                                                        By algorithm = nullptr, unsigned type = 0) {
    return with_counts(moving(Operation::scatter, send, receive, receive_bytes, root, algorithm, type),
                       Blocks{counts, displacements}, Blocks());
  }
  [[gnu::always_inline]] static inline Request allgatherv(const void* send, std::size_t send_bytes,
                                                          void* receive, Sizes counts, Sizes displacements,
                                                          By algorithm = nullptr, unsigned type = 0) {
    return with_counts(moving(Operation::allgather, send, receive, send_bytes, 0, algorithm, type), Blocks(),
                       Blocks{counts, displacements});
  }
  [[gnu::always_inline]] static inline Request alltoallv(const void* send, Sizes send_counts,
                                                         Sizes send_displacements, void* receive,
                                                         Sizes counts, Sizes displacements,
                                                         By algorithm = nullptr, unsigned type = 0) {
    return with_counts(moving(Operation::alltoall, send, receive, 0, 0, algorithm, type),
                       Blocks{send_counts, send_displacements}, Blocks{counts, displacements});
  }

 private:
  [[gnu::always_inline]] static inline Request moving(Operation operation, const void* send, void* receive,
                                                      std::size_t bytes, int root, By algorithm,
                                                      unsigned type) {
    Request made;
    made.operation = operation;
    made.type = type;
    made.root = root;
    made.send = send;
    made.receive = receive;
    made.count = bytes;
    made.algorithm = algorithm;
    return made;
  }
  [[gnu::always_inline]] static inline Request reducing(Operation operation, const void* send, void* receive,
                                                        std::size_t count, const Operator& op, By algorithm) {
    Request made = moving(operation, send, receive, count, 0, algorithm, 0);
    made.op = &op;
    return made;
  }
  [[gnu::always_inline]] static inline Request with_counts(Request made, const Blocks& sent,
                                                           const Blocks& received) {
    made.vector = true;
    made.send_blocks = sent;
    made.receive_blocks = received;
    return made;
  }
};

/// Whether two ranges meet: overlap, if neither is empty.
[[gnu::always_inline]] inline bool ranges_meet(const void* one, std::size_t one_bytes, const void* other,
                                               std::size_t other_bytes) {
  const auto a = reinterpret_cast<std::uintptr_t>(one);
  const auto b = reinterpret_cast<std::uintptr_t>(other);
  return a < b + other_bytes && b < a + one_bytes;
}

/// What a request means on a rank. Inline, since every call goes through it: with an operation that is known
/// when this is compiled, only that operation's part is left.
namespace request_rules {

/// Whether `each` times `times` (below 2^31) fits into memory. Only large numbers are divided: a division
/// takes as long as all the work of a small call apart from waiting.
inline bool fits_in_memory(std::size_t each, std::size_t times) {
  return __builtin_expect(each <= UINT32_MAX, 1) || each <= SIZE_MAX / 2 / times;
}

/// A number for each call, by which a switch finds it.
constexpr int call_number(Operation operation, bool counted, bool exclusive) {
  return static_cast<int>(operation) * 4 + (counted ? 2 : 0) + (exclusive ? 1 : 0);
}

// Faults that all ranks see alike: refused without effect.
[[noreturn, gnu::cold, gnu::noinline]] void refuse_call(const Request& request);
[[noreturn, gnu::cold, gnu::noinline]] void refuse_elements(std::size_t count, const Operator* op);
[[noreturn, gnu::cold, gnu::noinline]] void refuse_blocks(std::size_t bytes);
/// The sum of counts that all ranks know.
std::size_t sum_of(const std::size_t* counts, int ranks);
/// The end of the last block; SIZE_MAX if one lies outside of all memory.
std::size_t end_of(const Blocks& blocks, int ranks);

// `row` and `counted`, the request's operation and whether it is the version with counts, are arguments of
// their own: a compiler drops what does not belong to the operation before it asks whether the request needs
// memory.

/// The bytes of `count` elements of a request.
[[gnu::always_inline]] inline std::size_t bytes_of(const OperationRow& row, const Request& r,
                                                   std::size_t count) {
  if (!row.reduces) return count;
  const Operator& op = *r.op;
  const bool usable = op.kernel != nullptr && op.element_bytes - 1u < std::uint32_t{max_element_bytes};
  if (__builtin_expect(!usable || !fits_in_memory(count, op.element_bytes), 0)) refuse_elements(count, r.op);
  return count * op.element_bytes;
}

/// Whether the root's `send` has the blocks, of which a null `receive` leaves its own where it is. In all
/// other operations a null `send` means that the data is in `receive`.
constexpr bool gives_blocks(const OperationRow& row) {
  return row.sends == Part::root_blocks;
}
/// Whether the message lies in `receive` on every rank.
constexpr bool is_message(const OperationRow& row) {
  return row.receives == Part::others_block;
}
constexpr bool is_blocks(Part part) {
  return part == Part::blocks || part == Part::root_blocks;
}
constexpr bool at_root(const OperationRow& row, int root, int rank) {
  return !row.rooted || rank == root;
}

/// How much of its memory a rank's call uses, in bytes.
struct Extent {
  std::size_t block = 0;     ///< the message, or this rank's block as the rank itself gives it
  std::size_t sent = 0;      ///< from `send` on
  std::size_t received = 0;  ///< from `receive` on
  std::size_t at = 0;        ///< where this rank's block begins among those of all
  std::size_t own = 0;       ///< and its bytes there
};

/// Of a version with counts.
Extent counted_extent(const Request& request, int rank, int ranks);

/// `root`: at_root of this rank.
[[gnu::always_inline]] inline Extent extent_of(const OperationRow& row, bool counted, const Request& r,
                                               bool root, int rank, int ranks) {
  if (counted) return counted_extent(r, rank, ranks);
  Extent found;
  found.block = found.own = bytes_of(row, r, r.count);
  std::size_t all = found.block;
  if (is_blocks(row.sends) || is_blocks(row.receives)) {
    if (__builtin_expect(!fits_in_memory(all, static_cast<std::size_t>(ranks)), 0)) refuse_blocks(all);
    all *= static_cast<std::size_t>(ranks);
    if (!row.reduces) found.at = found.block * static_cast<std::size_t>(rank);
  }
  if (!is_message(row) && (root || row.sends == Part::block))
    found.sent = is_blocks(row.sends) ? all : found.block;
  if (is_message(row) || root || row.receives == Part::block)
    found.received = is_blocks(row.receives) ? all : found.block;
  return found;
}

/// Whether the rank's data is where its result will be: it gives no other place, or exactly that place.
[[gnu::always_inline]] inline bool in_place(const OperationRow& row, const Request& r, bool root,
                                            const Extent& extent) {
  if (is_message(row) || !root) return true;
  const void* const part = gives_blocks(row) ? r.receive : r.send;
  const void* const whole = gives_blocks(row) ? r.send : r.receive;
  if (part == nullptr) return true;
  if (row.sends == Part::blocks || extent.block != extent.own) return false;
  return reinterpret_cast<std::uintptr_t>(part) == reinterpret_cast<std::uintptr_t>(whole) + extent.at;
}

/// Whether a rank whose call is not in place writes where it still has to read. Of equal blocks none is
/// empty, or all are.
[[gnu::always_inline]] inline bool overlap(bool counted, const Request& r, const Extent& extent) {
  if (!ranges_meet(r.send, extent.sent, r.receive, extent.received)) return false;
  // Statements of their own: as one value, the result would cost small calls an instruction.
  if (counted ? extent.sent == 0 || extent.received == 0 : extent.block == 0) return false;
  return true;
}

}  // namespace request_rules

/// Whether a rank's call is refused since memory that it sends and memory that it receives overlap. For
/// callers that refuse it in words of their own before the group knows of the call.
bool overlaps(const Request& request, int rank, int ranks);

namespace request_rules {

/// What all ranks know about a call; `bytes` is not used where they do not know them.
[[gnu::always_inline]] inline CallFacts facts_with(const OperationRow& row, bool counted, const Request& r,
                                                   std::size_t bytes) {
  CallFacts facts;
  facts.operation = r.operation;
  facts.vector = counted;
  facts.exclusive = r.exclusive;
  facts.known = !counted || row.counts_known;
  if (facts.known) facts.bytes = bytes;
  if (row.reduces && r.op != nullptr) {
    facts.commutative = r.op->commutative;
    facts.associative = r.op->associative;
  }
  return facts;
}

}  // namespace request_rules

/// What all ranks know about a request whose addresses need not be known, for asking what would serve it.
/// Without an operator `count` is bytes; without counts it is the mean of theirs.
CallFacts facts_of(const Request& request, int ranks);

}  // namespace phicoll
