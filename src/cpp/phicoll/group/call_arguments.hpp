#pragma once

// How a data call of a Communicator checks its arguments, and begins. Inline, as every call goes through it:
// included by the files that define the calls.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/collectives/signature.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/communicator.hpp"

namespace phicoll {

namespace data_call {

inline Data data_at(const void* pointer) {
  return Data{const_cast<unsigned char*>(static_cast<const unsigned char*>(pointer))};
}

/// Whether `each` times `times` (below 2^31) fits into memory. A division takes as long as all else of a
/// small call that is not waiting, so it is left to large ones.
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

/// Of a block for each rank.
inline std::size_t blocks_of(std::size_t bytes, int ranks) {
  if (__builtin_expect(!fits_in_memory(bytes, static_cast<std::size_t>(ranks)), 0))
    throw ArgumentError("bytes", std::to_string(bytes), "blocks that fit into memory together");
  return bytes * static_cast<std::size_t>(ranks);
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

// Notes a call, and that it is over, however that comes.
struct Inside {
  Inside(CallBoard* board, int rank, std::uint64_t call, SignatureWord signature)
      : noted(board != nullptr ? &board->note(rank, call, signature) : nullptr), number(call) {}
  ~Inside() {
    if (noted != nullptr) CallBoard::done(*noted, number);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  CallBoard::Noted* noted;
  std::uint64_t number;
};

}  // namespace data_call

// Always inline: what of it hangs on the operation alone is then done by the compiler.
[[gnu::always_inline]] inline void Communicator::run(const CallFacts& facts, Call& call,
                                                     const AlgorithmSpec* algorithm) {
  // Who serves the call is looked up in front of the note, so that the facts need not be kept across it, and
  // made behind it, as that takes calls of its own.
  Collectives::Set::Instance* const known =
      __builtin_expect(algorithm == nullptr && collectives_ != nullptr, 1) ? collectives_->known(facts)
                                                                           : nullptr;
  call.vector = facts.vector;
  const SignatureWord signature = CallSignature::of(facts, call);
  call.tag = CallSignature::tag(signature);
  const data_call::Inside inside(board_, rank_, calls_.begin(signature), signature);
  // A rank that only tells others may never wait, and would go on in a broken group. Looked at behind the
  // note: see Collectives::wait_for_readers.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (__builtin_expect(memory_.control->broken(), 0)) memory_.control->check_broken(rank_);
  Collectives::Set::Instance& instance =
      __builtin_expect(known != nullptr, 1) ? *known : instance_for(facts, algorithm);
  collectives_->run(instance, call, inside.number);
}

inline void Communicator::check_root(int root) const {
  if (static_cast<unsigned>(root) >= static_cast<unsigned>(size()))
    throw ArgumentError("root", std::to_string(root), "0.." + std::to_string(size() - 1));
}

inline void Communicator::check_buffer(const char* name, const void* pointer, std::size_t bytes) {
  if (__builtin_expect(pointer == nullptr && bytes != 0, 0))
    refuse_alone(name, "null", "memory of " + std::to_string(bytes) + " bytes");
}

inline void Communicator::check_apart(const void* send, std::size_t send_bytes, const void* receive,
                                      std::size_t receive_bytes) {
  const auto s = reinterpret_cast<std::uintptr_t>(send);
  const auto r = reinterpret_cast<std::uintptr_t>(receive);
  if (__builtin_expect(s < r + receive_bytes && r < s + send_bytes && send_bytes != 0 && receive_bytes != 0,
                       0))
    refuse_alone("receive", "memory that overlaps with send", "separate buffers, or in place");
}

}  // namespace phicoll
