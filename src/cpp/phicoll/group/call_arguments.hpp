#pragma once

// Checks the arguments of a Communicator's data call, and begins it. Inline, because every call goes through
// it; included by the files that define the calls.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/collectives/contract/request.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/collectives/registry/signature.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/communicator.hpp"

namespace phicoll {

namespace data_call {

inline Data data_at(const void* pointer) {
  return Data{const_cast<unsigned char*>(static_cast<const unsigned char*>(pointer))};
}

/// The id of a call that only moves data: its type, in the bits that hold a reduction's type.
inline std::uint16_t id_of(unsigned type) {
  if (__builtin_expect(type > announcing_type, 0))
    throw ArgumentError("type", std::to_string(type), "0.." + std::to_string(most_types));
  return static_cast<std::uint16_t>(type << 8);
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

// Faults that one rank sees alone: they break the group, in which the others have begun the call and wait.
[[noreturn]] void refuse_alone(Member& by, const char* argument, const std::string& got,
                               const std::string& allowed);
[[noreturn, gnu::noinline, gnu::cold]] void refuse_null(Member& by, const char* argument, std::size_t bytes);
[[noreturn, gnu::noinline, gnu::cold]] void refuse_overlap(Member& by);
[[gnu::noinline, gnu::cold]] void refuse_end(Member& by, const char* argument, const Blocks& blocks);
std::size_t mean_block(const Request& request, const request_rules::Extent& extent, int ranks);
void check_ends(Member& by, const Request& request, const request_rules::Extent& extent);
void check_fit(Member& by, const Request& request, const request_rules::Extent& extent);

inline void check_root(int root, int ranks) {
  if (static_cast<unsigned>(root) >= static_cast<unsigned>(ranks))
    throw ArgumentError("root", std::to_string(root), "0.." + std::to_string(ranks - 1));
}

[[gnu::always_inline]] inline void check_buffer(Member& by, const char* name, const void* pointer,
                                                std::size_t bytes) {
  if (__builtin_expect(pointer == nullptr && bytes != 0, 0)) refuse_null(by, name, bytes);
}

}  // namespace data_call

/// Begins a call that the algorithm with the mark `by` serves. Returns where the call is noted; null if it is
/// not.
[[gnu::always_inline]] inline CallBoard::Noted* Communicator::begin(Call& call, SignatureWord signature,
                                                                    SignatureWord by) {
  check_process();
  const std::uint64_t number = calls_.begin(signature, by);
  call.tag = calls_.tag();
  return board_ != nullptr ? &board_->note(rank_, number, signature, call.tag) : nullptr;
}

// A rank that only tells others may never wait, and would go on in a broken group. So it looks here, after it
// has noted its call (see Collectives::wait_for_readers).
[[gnu::always_inline]] inline void Communicator::check_whole() const {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (__builtin_expect(memory_.control->broken(), 0)) memory_.control->check_broken(rank_);
}

// Always inline, so that the compiler works out what depends on the operation alone; facts are passed on by
// value, since what has an address is kept in memory.
//
// Similar calls have their instance and their signature worked out once. Ranks still compare the same:
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

/// Makes a call: checks it, and hands it to its algorithm in the form that algorithms take. Inlined for each
/// operation, as run() is.
///
/// Checks what all ranks see alike first, which throws without effect; the rest breaks the group, in which
/// the others wait.
template <Operation operation, bool counted>
[[gnu::always_inline]] inline void Communicator::submit(const Request& r) {
  using namespace request_rules;
  using namespace data_call;
  constexpr const OperationRow& row = row_of(operation);
  constexpr bool pairs = exchanges_pairs(operation);
  constexpr bool gives = gives_blocks(row);
  if (row.rooted) check_root(r.root, size_);
  if (counted && pairs && r.send == nullptr) return exchange_in_place(r);
  const bool root = at_root(row, r.root, rank_);
  const Extent extent = extent_of(row, counted, r, root, rank_, size_);
  const std::size_t bytes = counted ? mean_block(r, extent, size_) : extent.block;
  if (counted) check_ends(*this, r, extent);

  if (is_message(row))
    check_buffer(*this, "buffer", r.receive, extent.received);
  else if (root ? gives : !gives)
    check_buffer(*this, "send", r.send, extent.sent);
  else
    check_buffer(*this, "receive", r.receive,
                 row.reduces && r.send == nullptr ? extent.sent : extent.received);
  if (pairs) {
    if (counted)
      check_buffer(*this, "send", r.send, extent.sent);
    else if (__builtin_expect(r.send == nullptr && extent.received != 0, 0))
      return exchange_in_place(r);
  }
  if (__builtin_expect(!in_place(row, r, root, extent), 1)) {
    if (__builtin_expect(overlap(counted, r, extent), 0)) refuse_overlap(*this);
    if (counted) check_fit(*this, r, extent);
  }

  Call other;
  // Such a call sets the same members each time.
  Call& call = counted                                 ? other
               : operation == Operation::broadcast     ? broadcast_
               : operation == Operation::reduce        ? reduce_
               : pairs || row.receives == Part::blocks ? exchange_
                                                       : other;
  const Data send = data_at(r.send);
  const Data receive = data_at(r.receive);
  if (is_message(row)) {
    call.receive = receive;
  } else if (!root) {
    call.send = gives ? Data() : send;
    call.receive = gives ? receive : Data();
  } else if (gives) {
    call.send = send;
    call.receive = receive ? receive : send + extent.at;
  } else {
    call.receive = receive;
    call.send = send || pairs ? send : receive + extent.at;
  }
  call.count = !counted ? r.count : row.reduces || pairs ? 0 : root ? extent.own : r.count;
  if (row.rooted) call.root = r.root;
  if (row.exclusive_name != nullptr) call.exclusive = r.exclusive;
  if (row.reduces)
    call.op = *r.op;
  else
    call.op.id = id_of(r.type);
  Blocks blocks, send_blocks;
  if (counted && root) {
    blocks = gives || row.reduces ? r.send_blocks : r.receive_blocks;
    call.blocks = &blocks;
    if (pairs) {
      send_blocks = r.send_blocks;
      call.send_blocks = &send_blocks;
    }
  }
  run(facts_with(row, counted, r, bytes), call, r.algorithm);
}

}  // namespace phicoll
