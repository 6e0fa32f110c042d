// The calls of a Communicator that move data: arguments checked and brought into the form that algorithms
// take.

#include <atomic>
#include <cstdint>
#include <cstring>

#include "phicoll/collectives/signature.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/communicator.hpp"

namespace phicoll {

namespace {

Data data_at(const void* pointer) {
  return Data{const_cast<unsigned char*>(static_cast<const unsigned char*>(pointer))};
}

std::size_t bytes_of(std::size_t count, const Operator& op) {
  if (op.kernel == nullptr || op.element_bytes == 0 || op.element_bytes > max_element_bytes)
    throw ArgumentError("op", "an operator on elements of " + std::to_string(op.element_bytes) + " bytes",
                        "a kernel and elements of 1.." + std::to_string(max_element_bytes) + " bytes");
  if (count > SIZE_MAX / 2 / op.element_bytes)
    throw ArgumentError("count", std::to_string(count), "what fits into memory");
  return count * op.element_bytes;
}

/// Of a block for each rank.
std::size_t blocks_of(std::size_t bytes, int ranks) {
  if (bytes > SIZE_MAX / 2 / static_cast<std::size_t>(ranks))
    throw ArgumentError("bytes", std::to_string(bytes), "blocks that fit into memory together");
  return bytes * static_cast<std::size_t>(ranks);
}

CallFacts facts_of(Operation operation, std::size_t bytes) {
  CallFacts facts;
  facts.operation = operation;
  facts.bytes = bytes;
  return facts;
}

CallFacts facts_of(Operation operation, std::size_t bytes, const Operator& op) {
  CallFacts facts = facts_of(operation, bytes);
  facts.commutative = op.commutative;
  facts.associative = op.associative;
  return facts;
}

// Notes a call, and that it is over, however that comes.
struct Inside {
  Inside(CallBoard* calls, int own, std::uint64_t call, SignatureWord signature)
      : board(calls), rank(own), number(call) {
    if (board != nullptr) board->note(rank, number, signature);
  }
  ~Inside() {
    if (board != nullptr) board->done(rank, number);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  CallBoard* board;
  int rank;
  std::uint64_t number;
};

/// What all ranks see alike: refused without effect.
std::size_t sum_of(int ranks, const std::size_t* counts) {
  std::size_t total = 0;
  for (int r = 0; r < ranks; ++r) {
    if (counts[r] > SIZE_MAX / 2 - total)
      throw ArgumentError("counts", std::to_string(counts[r]) + " for rank " + std::to_string(r),
                          "counts that fit into memory together");
    total += counts[r];
  }
  return total;
}

}  // namespace

Collectives& Communicator::collectives() {
  if (!collectives_) collectives_.reset(new Collectives(*this));
  return *collectives_;
}

void Communicator::select(Operation operation, const std::string& spec) {
  if (operation == Operation::barrier)
    select_barrier(spec);
  else
    collectives().select(operation, spec);
}

AlgorithmChoice Communicator::why(const CallFacts& facts) {
  if (facts.operation == Operation::barrier) return {barrier_spec(), barrier_reason()};
  return collectives().why(facts);
}

inline void Communicator::run(const CallFacts& facts, Call& call, const AlgorithmSpec* algorithm) {
  const SignatureWord signature = CallSignature::of(facts, call);
  call.tag = CallSignature::tag(signature);
  const Inside inside(board_, rank_, ++calls_, signature);
  // A rank that only tells others may never wait, and would go on in a broken group. Looked at behind the
  // note: see Collectives::leave_half_done.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (__builtin_expect(memory_.control->broken(), 0)) memory_.control->check_broken(rank_);
  if (__builtin_expect(!collectives_, 0)) collectives();
  collectives_->run(facts, call, algorithm, inside.number);
}

inline void Communicator::check_root(int root) const {
  if (static_cast<unsigned>(root) >= static_cast<unsigned>(size()))
    throw ArgumentError("root", std::to_string(root), "0.." + std::to_string(size() - 1));
}

// The others have begun the call and would wait.
void Communicator::refuse_alone(const char* argument, const std::string& got, const std::string& allowed) {
  const ArgumentError error(argument, got, allowed);
  memory_.control->break_group(rank_, error.what());
  throw error;
}

inline void Communicator::check_buffer(const char* name, const void* pointer, std::size_t bytes) {
  if (__builtin_expect(pointer == nullptr && bytes != 0, 0))
    refuse_alone(name, "null", "memory of " + std::to_string(bytes) + " bytes");
}

// Where the last of the blocks ends.
std::size_t Communicator::end_of(const char* name, const std::size_t* counts,
                                 const std::size_t* displacements) {
  std::size_t end = 0;
  for (int r = 0; r < size(); ++r) {
    if (counts[r] == 0) continue;
    if (displacements[r] > SIZE_MAX / 2 || counts[r] > SIZE_MAX / 2 - displacements[r])
      refuse_alone(name,
                   std::to_string(counts[r]) + " bytes at " + std::to_string(displacements[r]) +
                       " for rank " + std::to_string(r),
                   "blocks within the memory");
    if (displacements[r] + counts[r] > end) end = displacements[r] + counts[r];
  }
  return end;
}

inline void Communicator::check_apart(const void* send, std::size_t send_bytes, const void* receive,
                                      std::size_t receive_bytes) {
  const auto s = reinterpret_cast<std::uintptr_t>(send);
  const auto r = reinterpret_cast<std::uintptr_t>(receive);
  if (__builtin_expect(s < r + receive_bytes && r < s + send_bytes && send_bytes != 0 && receive_bytes != 0,
                       0))
    refuse_alone("receive", "memory that overlaps with send", "separate buffers, or in place");
}

// This rank's part beside the blocks of all: `part`, or where it is null its place among the blocks. A part
// that is exactly there means the same; any other overlap is refused, and so is another size than the
// block's.
Data Communicator::own_block(const char* name, const void* part, std::size_t part_bytes, const void* blocks,
                             std::size_t all, std::size_t offset, std::size_t own) {
  const auto place = reinterpret_cast<std::uintptr_t>(blocks) + offset;
  if (part == nullptr || (part_bytes == own && reinterpret_cast<std::uintptr_t>(part) == place))
    return data_at(blocks) + offset;
  check_apart(part, part_bytes, blocks, all);
  if (__builtin_expect(part_bytes != own, 0))
    refuse_alone(name, std::to_string(part_bytes) + " bytes",
                 "this rank's own count, " + std::to_string(own));
  return data_at(part);
}

void Communicator::broadcast(void* buffer, std::size_t bytes, int root, const AlgorithmSpec* algorithm) {
  check_root(root);
  check_buffer("buffer", buffer, bytes);
  Call call;
  call.receive = data_at(buffer);
  call.count = bytes;
  call.root = root;
  run(facts_of(Operation::broadcast, bytes), call, algorithm);
}

void Communicator::reduce(const void* send, void* receive, std::size_t count, const Operator& op, int root,
                          const AlgorithmSpec* algorithm) {
  check_root(root);
  const std::size_t bytes = bytes_of(count, op);
  Call call;
  if (rank_ == root) {
    check_buffer("receive", receive, bytes);
    if (send != nullptr && send != receive) check_apart(send, bytes, receive, bytes);
    call.receive = data_at(receive);
    call.send = send != nullptr ? data_at(send) : call.receive;
  } else {
    check_buffer("send", send, bytes);
    call.send = data_at(send);
  }
  call.count = count;
  call.root = root;
  call.op = op;
  run(facts_of(Operation::reduce, bytes, op), call, algorithm);
}

// Where every rank has a send and a receive of `count` elements.
void Communicator::reduction(Operation operation, const void* send, void* receive, std::size_t count,
                             const Operator& op, bool exclusive, const AlgorithmSpec* algorithm) {
  const std::size_t bytes = bytes_of(count, op);
  check_buffer("receive", receive, bytes);
  if (send != nullptr && send != receive) check_apart(send, bytes, receive, bytes);
  Call call;
  call.receive = data_at(receive);
  call.send = send != nullptr ? data_at(send) : call.receive;
  call.count = count;
  call.exclusive = exclusive;
  call.op = op;
  run(facts_of(operation, bytes, op), call, algorithm);
}

void Communicator::allreduce(const void* send, void* receive, std::size_t count, const Operator& op,
                             const AlgorithmSpec* algorithm) {
  reduction(Operation::allreduce, send, receive, count, op, false, algorithm);
}

void Communicator::scan(const void* send, void* receive, std::size_t count, const Operator& op,
                        const AlgorithmSpec* algorithm) {
  reduction(Operation::scan, send, receive, count, op, false, algorithm);
}

void Communicator::exscan(const void* send, void* receive, std::size_t count, const Operator& op,
                          const AlgorithmSpec* algorithm) {
  reduction(Operation::scan, send, receive, count, op, true, algorithm);
}

void Communicator::reduce_scatter_block(const void* send, void* receive, std::size_t count,
                                        const Operator& op, const AlgorithmSpec* algorithm) {
  const std::size_t bytes = bytes_of(count, op);
  const std::size_t all = blocks_of(bytes, size());
  check_buffer("receive", receive, bytes);
  if (send != nullptr) check_apart(send, all, receive, bytes);
  Call call;
  call.receive = data_at(receive);
  // In place: the blocks are where block 0 of the result will be.
  call.send = send != nullptr ? data_at(send) : call.receive;
  call.count = count;
  call.op = op;
  run(facts_of(Operation::reduce_scatter, bytes, op), call, algorithm);
}

void Communicator::reduce_scatter(const void* send, void* receive, const std::size_t* counts,
                                  const Operator& op, const AlgorithmSpec* algorithm) {
  std::vector<std::size_t> at(static_cast<std::size_t>(size()));
  const std::size_t bytes = bytes_of(sum_of(size(), counts), op);
  std::size_t total = 0;
  for (int r = 0; r < size(); ++r) {
    at[static_cast<std::size_t>(r)] = total;
    total += counts[r];
  }
  const std::size_t own = counts[rank_] * op.element_bytes;
  check_buffer("receive", receive, send != nullptr ? own : bytes);
  if (send != nullptr) check_apart(send, bytes, receive, own);
  Call call;
  call.receive = data_at(receive);
  call.send = send != nullptr ? data_at(send) : call.receive;
  call.op = op;
  call.counts = counts;
  call.displacements = at.data();
  CallFacts facts = facts_of(Operation::reduce_scatter, bytes / static_cast<std::size_t>(size()), op);
  facts.vector = true;
  run(facts, call, algorithm);
}

void Communicator::gather(const void* send, void* receive, std::size_t bytes, int root,
                          const AlgorithmSpec* algorithm) {
  check_root(root);
  const std::size_t all = blocks_of(bytes, size());
  const std::size_t offset = bytes * static_cast<std::size_t>(rank_);
  Call call;
  if (rank_ == root) {
    check_buffer("receive", receive, all);
    call.receive = data_at(receive);
    call.send = own_block("send", send, bytes, receive, all, offset, bytes);
  } else {
    check_buffer("send", send, bytes);
    call.send = data_at(send);
  }
  call.count = bytes;
  call.root = root;
  run(facts_of(Operation::gather, bytes), call, algorithm);
}

void Communicator::scatter(const void* send, void* receive, std::size_t bytes, int root,
                           const AlgorithmSpec* algorithm) {
  check_root(root);
  const std::size_t all = blocks_of(bytes, size());
  const std::size_t offset = bytes * static_cast<std::size_t>(rank_);
  Call call;
  if (rank_ == root) {
    check_buffer("send", send, all);
    call.send = data_at(send);
    call.receive = own_block("receive", receive, bytes, send, all, offset, bytes);
  } else {
    check_buffer("receive", receive, bytes);
    call.receive = data_at(receive);
  }
  call.count = bytes;
  call.root = root;
  run(facts_of(Operation::scatter, bytes), call, algorithm);
}

void Communicator::allgather(const void* send, void* receive, std::size_t bytes,
                             const AlgorithmSpec* algorithm) {
  const std::size_t all = blocks_of(bytes, size());
  check_buffer("receive", receive, all);
  Call call;
  call.receive = data_at(receive);
  call.send = own_block("send", send, bytes, receive, all, bytes * static_cast<std::size_t>(rank_), bytes);
  call.count = bytes;
  run(facts_of(Operation::allgather, bytes), call, algorithm);
}

void Communicator::alltoall(const void* send, void* receive, std::size_t bytes,
                            const AlgorithmSpec* algorithm) {
  const std::size_t all = blocks_of(bytes, size());
  check_buffer("receive", receive, all);
  std::vector<unsigned char> before;  // in place: what is sent is about to be overwritten
  if (send == nullptr && all != 0) {
    before.assign(static_cast<unsigned char*>(receive), static_cast<unsigned char*>(receive) + all);
    send = before.data();
  }
  check_apart(send, all, receive, all);
  Call call;
  call.send = data_at(send);
  call.receive = data_at(receive);
  call.count = bytes;
  run(facts_of(Operation::alltoall, bytes), call, algorithm);
}

void Communicator::gatherv(const void* send, std::size_t send_bytes, void* receive, const std::size_t* counts,
                           const std::size_t* displacements, int root, const AlgorithmSpec* algorithm) {
  check_root(root);
  Call call;
  if (rank_ == root) {
    const std::size_t all = end_of("receive", counts, displacements);
    check_buffer("receive", receive, all);
    call.receive = data_at(receive);
    call.send = own_block("send", send, send_bytes, receive, all, displacements[rank_], counts[rank_]);
    call.count = counts[rank_];
    call.counts = counts;
    call.displacements = displacements;
  } else {
    check_buffer("send", send, send_bytes);
    call.send = data_at(send);
    call.count = send_bytes;
  }
  call.root = root;
  CallFacts facts = facts_of(Operation::gather, 0);
  facts.vector = true;
  facts.known = false;
  run(facts, call, algorithm);
}

void Communicator::scatterv(const void* send, const std::size_t* counts, const std::size_t* displacements,
                            void* receive, std::size_t receive_bytes, int root,
                            const AlgorithmSpec* algorithm) {
  check_root(root);
  Call call;
  if (rank_ == root) {
    const std::size_t all = end_of("send", counts, displacements);
    check_buffer("send", send, all);
    call.send = data_at(send);
    call.receive =
        own_block("receive", receive, receive_bytes, send, all, displacements[rank_], counts[rank_]);
    call.count = counts[rank_];
    call.counts = counts;
    call.displacements = displacements;
  } else {
    check_buffer("receive", receive, receive_bytes);
    call.receive = data_at(receive);
    call.count = receive_bytes;
  }
  call.root = root;
  CallFacts facts = facts_of(Operation::scatter, 0);
  facts.vector = true;
  facts.known = false;
  run(facts, call, algorithm);
}

void Communicator::allgatherv(const void* send, std::size_t send_bytes, void* receive,
                              const std::size_t* counts, const std::size_t* displacements,
                              const AlgorithmSpec* algorithm) {
  const std::size_t total = sum_of(size(), counts);
  const std::size_t all = end_of("receive", counts, displacements);
  check_buffer("receive", receive, all);
  Call call;
  call.receive = data_at(receive);
  call.send = own_block("send", send, send_bytes, receive, all, displacements[rank_], counts[rank_]);
  call.count = counts[rank_];
  call.counts = counts;
  call.displacements = displacements;
  CallFacts facts = facts_of(Operation::allgather, total / static_cast<std::size_t>(size()));
  facts.vector = true;
  run(facts, call, algorithm);
}

void Communicator::alltoallv(const void* send, const std::size_t* send_counts,
                             const std::size_t* send_displacements, void* receive, const std::size_t* counts,
                             const std::size_t* displacements, const AlgorithmSpec* algorithm) {
  const std::size_t all = end_of("receive", counts, displacements);
  check_buffer("receive", receive, all);
  std::vector<unsigned char> before;
  if (send == nullptr) {
    send_counts = counts;
    send_displacements = displacements;
    if (all != 0) {
      before.assign(static_cast<unsigned char*>(receive), static_cast<unsigned char*>(receive) + all);
      send = before.data();
    }
  }
  const std::size_t sent = end_of("send", send_counts, send_displacements);
  check_buffer("send", send, sent);
  check_apart(send, sent, receive, all);
  if (send_counts[rank_] != counts[rank_])
    refuse_alone("counts", std::to_string(counts[rank_]) + " bytes from this rank to itself",
                 "as many as it sends, " + std::to_string(send_counts[rank_]));
  Call call;
  call.send = data_at(send);
  call.receive = data_at(receive);
  call.counts = counts;
  call.displacements = displacements;
  call.send_counts = send_counts;
  call.send_displacements = send_displacements;
  CallFacts facts = facts_of(Operation::alltoall, 0);
  facts.vector = true;
  facts.known = false;
  run(facts, call, algorithm);
}

}  // namespace phicoll
