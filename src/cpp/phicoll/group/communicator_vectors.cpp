// The calls of a Communicator whose blocks have counts of their own (MPI's vector versions).

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/group/call_arguments.hpp"

namespace phicoll {

using namespace data_call;

namespace {

/// Faults that all ranks see alike: refused without effect.
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

// The end of the last block.
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

void Communicator::reduce_scatter(const void* send, void* receive, const std::size_t* counts,
                                  const Operator& op, const AlgorithmSpec* algorithm) {
  constexpr int few = 16;  // ranks, for which an allocation would take a good part of a small call
  std::size_t near[few];
  std::vector<std::size_t> far(static_cast<std::size_t>(size() <= few ? 0 : size()));
  std::size_t* const at = far.empty() ? near : far.data();
  const std::size_t bytes = bytes_of(sum_of(size(), counts), op);
  std::size_t total = 0;
  for (int r = 0; r < size(); ++r) {
    at[r] = total;
    total += counts[r];
  }
  const std::size_t own = counts[rank_] * op.element_bytes;
  check_buffer("receive", receive, send != nullptr ? own : bytes);
  if (send != nullptr) check_apart(send, bytes, receive, own);
  Call call;
  call.receive = data_at(receive);
  call.send = send != nullptr ? data_at(send) : call.receive;
  call.op = op;
  const Blocks blocks{counts, at};
  call.blocks = &blocks;
  CallFacts facts = facts_of(Operation::reduce_scatter, bytes / static_cast<std::size_t>(size()), op);
  facts.vector = true;
  run(facts, call, algorithm);
}

void Communicator::gatherv(const void* send, std::size_t send_bytes, void* receive, const std::size_t* counts,
                           const std::size_t* displacements, int root, const AlgorithmSpec* algorithm,
                           unsigned type) {
  check_root(root);
  const Blocks blocks{counts, displacements};
  Call call;
  call.op.id = id_of(type);
  if (rank_ == root) {
    const std::size_t all = end_of("receive", counts, displacements);
    check_buffer("receive", receive, all);
    call.receive = data_at(receive);
    call.send = own_block("send", send, send_bytes, receive, all, displacements[rank_], counts[rank_]);
    call.count = counts[rank_];
    call.blocks = &blocks;
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
                            const AlgorithmSpec* algorithm, unsigned type) {
  check_root(root);
  const Blocks blocks{counts, displacements};
  Call call;
  call.op.id = id_of(type);
  if (rank_ == root) {
    const std::size_t all = end_of("send", counts, displacements);
    check_buffer("send", send, all);
    call.send = data_at(send);
    call.receive =
        own_block("receive", receive, receive_bytes, send, all, displacements[rank_], counts[rank_]);
    call.count = counts[rank_];
    call.blocks = &blocks;
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
                              const AlgorithmSpec* algorithm, unsigned type) {
  const std::size_t total = sum_of(size(), counts);
  const std::size_t all = end_of("receive", counts, displacements);
  check_buffer("receive", receive, all);
  const Blocks blocks{counts, displacements};
  Call call;
  call.op.id = id_of(type);
  call.receive = data_at(receive);
  call.send = own_block("send", send, send_bytes, receive, all, displacements[rank_], counts[rank_]);
  call.count = counts[rank_];
  call.blocks = &blocks;
  CallFacts facts = facts_of(Operation::allgather, total / static_cast<std::size_t>(size()));
  facts.vector = true;
  run(facts, call, algorithm);
}

void Communicator::alltoallv(const void* send, const std::size_t* send_counts,
                             const std::size_t* send_displacements, void* receive, const std::size_t* counts,
                             const std::size_t* displacements, const AlgorithmSpec* algorithm,
                             unsigned type) {
  const std::size_t all = end_of("receive", counts, displacements);
  check_buffer("receive", receive, all);
  std::shared_ptr<void> before;
  if (send == nullptr) {
    send_counts = counts;
    send_displacements = displacements;
    if (all != 0) send = copy_of(receive, all, &before);
  }
  const std::size_t sent = end_of("send", send_counts, send_displacements);
  check_buffer("send", send, sent);
  check_apart(send, sent, receive, all);
  if (send_counts[rank_] != counts[rank_])
    refuse_alone("counts", std::to_string(counts[rank_]) + " bytes from this rank to itself",
                 "as many as it sends, " + std::to_string(send_counts[rank_]));
  const Blocks blocks{counts, displacements};
  const Blocks send_blocks{send_counts, send_displacements};
  Call call;
  call.op.id = id_of(type);
  call.send = data_at(send);
  call.receive = data_at(receive);
  call.blocks = &blocks;
  call.send_blocks = &send_blocks;
  CallFacts facts = facts_of(Operation::alltoall, 0);
  facts.vector = true;
  facts.known = false;
  run(facts, call, algorithm);
}

}  // namespace phicoll
