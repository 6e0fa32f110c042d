#pragma once

// Checks the arguments of a Communicator's data call, and begins it. Inline, because every call goes through it;
// included by the files that define the calls.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/collectives/registry/signature.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/communicator.hpp"

namespace phicoll {

namespace data_call {

inline Data data_at(const void* pointer) {
  return Data{const_cast<unsigned char*>(static_cast<const unsigned char*>(pointer))};
}

/// Whether `each` times `times` (below 2^31) fits into memory. Only large numbers are divided: a division takes as long as
/// all the work of a small call apart from waiting.
inline bool fits_in_memory(std::size_t each, std::size_t times) {
  return __builtin_expect(each <= UINT32_MAX, 1) || each <= SIZE_MAX / 2 / times;
}

[[noreturn, gnu::cold, gnu::noinline]] inline void refuse_elements(std::size_t count, const Operator& op) {
  if (op.kernel == nullptr || op.element_bytes == 0 || op.element_bytes > max_element_bytes)
    throw ArgumentError("op", "an operator on elements of " + std::to_string(op.element_bytes) + " bytes",
                        "a kernel and elements of 1.." + std::to_string(max_element_bytes) + " bytes");
  throw ArgumentError("count", std::to_string(count), "what fits into memory");
}

inline std::size_t bytes_of(std::size_t count, const Operator& op) {
  const bool usable = op.kernel != nullptr && op.element_bytes - 1u < std::uint32_t{max_element_bytes};
  if (__builtin_expect(!usable || !fits_in_memory(count, op.element_bytes), 0)) refuse_elements(count, op);
  return count * op.element_bytes;
}

/// Total bytes of one block per rank.
inline std::size_t blocks_of(std::size_t bytes, int ranks) {
  if (__builtin_expect(!fits_in_memory(bytes, static_cast<std::size_t>(ranks)), 0))
    throw ArgumentError("bytes", std::to_string(bytes), "blocks that fit into memory together");
  return bytes * static_cast<std::size_t>(ranks);
}

/// The id of a call that only moves data: its type, in the bits that hold a reduction's type.
inline std::uint16_t id_of(unsigned type) {
  if (__builtin_expect(type > announcing_type, 0))
    throw ArgumentError("type", std::to_string(type), "0.." + std::to_string(most_types));
  return static_cast<std::uint16_t>(type << 8);
}

inline CallFacts facts_of(Operation operation, std::size_t bytes) {
  CallFacts facts;
  facts.operation = operation;
  facts.bytes = bytes;
  return facts;
}

inline CallFacts facts_of(Operation operation, std::size_t bytes, const Operator& op) {
  CallFacts facts = facts_of(operation, bytes);
  facts.commutative = op.commutative;
  facts.associative = op.associative;
  return facts;
}

// Marks its rank as in a call, while it lives.
class Inside {
 public:
  explicit Inside(CallBoard::Noted* noted) : noted_(noted) {}
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() {
    if (noted_ != nullptr) CallBoard::done(*noted_);
  }

 private:
  CallBoard::Noted* noted_;
};

}  // namespace data_call

/// Begins a call that the algorithm with the mark `by` serves. Returns where the call is noted; null if it is not.
[[gnu::always_inline]] inline CallBoard::Noted* Communicator::begin(Call& call, SignatureWord signature,
                                                                    SignatureWord by) {
  check_process();
  const std::uint64_t number = calls_.begin(signature, by);
  call.tag = calls_.tag();
  return board_ != nullptr ? &board_->note(rank_, number, CallNote{signature, call.tag}) : nullptr;
}

// A rank that only tells others may never wait, and would go on in a broken group. So it looks here, after it has noted
// its call (see Collectives::wait_for_readers).
[[gnu::always_inline]] inline void Communicator::check_whole() const {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (__builtin_expect(memory_.control->broken(), 0)) memory_.control->check_broken(rank_);
}

// Always inline, so that the compiler works out what depends on the operation alone; facts are passed on by
// value, since what has an address is kept in memory.
//
// For similar calls the serving instance and the signature are worked out once. Ranks still compare the same:
// a likeness and the bytes hold all that a signature is made of, except the counts of a vector version that
// all ranks know, whose signature is worked out each time. Each call is still noted before anything that
// could make it wait, and still goes into the tag of its messages.
[[gnu::always_inline]] inline void Communicator::run(CallFacts facts, Call& call,
                                                     const AlgorithmSpec* algorithm) {
  go_on_in_passing();
  call.vector = facts.vector;
  if (__builtin_expect(algorithm != nullptr || collectives_ == nullptr, 0))
    return run_anew(facts, call, algorithm);
  const Collectives::Set::Last& last = collectives_->last(facts.operation);
  const bool alike = last.likeness == call_signature::likeness(facts, call) && last.bytes == facts.bytes;
  if (__builtin_expect(!alike, 0) && !look_up(facts, call)) return run_anew(facts, call, algorithm);
  Collectives::Set::Instance& instance = *last.instance;
  arch::prefetch_line_to_write(instance.algorithm->first_line());
  const bool counted = facts.vector && facts.known;  // the signature holds counts
  const data_call::Inside inside(begin(
      call, counted ? call_signature::of(facts, call, size_, instance.by) : last.signature, instance.by));
  check_whole();
  collectives_->run(instance, call, calls_.begun());
}

inline void Communicator::check_root(int root) const {
  if (static_cast<unsigned>(root) >= static_cast<unsigned>(size()))
    throw ArgumentError("root", std::to_string(root), "0.." + std::to_string(size() - 1));
}

[[gnu::always_inline]] inline void Communicator::check_buffer(const char* name, const void* pointer,
                                                              std::size_t bytes) {
  if (__builtin_expect(pointer == nullptr && bytes != 0, 0)) refuse_null(name, bytes);
}

[[gnu::always_inline]] inline void Communicator::check_apart(const void* send, std::size_t send_bytes,
                                                             const void* receive, std::size_t receive_bytes) {
  const auto s = reinterpret_cast<std::uintptr_t>(send);
  const auto r = reinterpret_cast<std::uintptr_t>(receive);
  if (__builtin_expect(s < r + receive_bytes && r < s + send_bytes && send_bytes != 0 && receive_bytes != 0,
                       0))
    refuse_overlap();
}

// This rank's part beside the blocks of all: `part`, or if null its place among the blocks. A part exactly at that
// place means the same. Refuses any other overlap, and a size other than the block's.
[[gnu::always_inline]] inline Data Communicator::own_block(const char* name, const void* part,
                                                           std::size_t part_bytes, const void* blocks,
                                                           std::size_t all, std::size_t offset,
                                                           std::size_t own) {
  const auto place = reinterpret_cast<std::uintptr_t>(blocks) + offset;
  if (part == nullptr || (part_bytes == own && reinterpret_cast<std::uintptr_t>(part) == place))
    return data_call::data_at(blocks) + offset;
  check_apart(part, part_bytes, blocks, all);
  if (__builtin_expect(part_bytes != own, 0)) refuse_size(name, part_bytes, own);
  return data_call::data_at(part);
}

}  // namespace phicoll
