// The calls of a Communicator that move data: arguments checked and brought into the form that algorithms
// take.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/collectives/choosing/tuning_table.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/calibration.hpp"
#include "phicoll/group/call_arguments.hpp"
#include "phicoll/group/learned_numbers.hpp"
#include "phicoll/group/nonblocking.hpp"
#include "phicoll/memory/host_numbers.hpp"

namespace phicoll {

using namespace data_call;

Collectives& Communicator::collectives() {
  if (!collectives_) collectives_.reset(new Collectives(*this));
  return *collectives_;
}

// Whether an instance is known that serves the call: that of its operation's last call.
bool Communicator::look_up(CallFacts facts, const Call& call) {
  Collectives::Set::Instance* const known = collectives_->known(facts);
  if (known == nullptr) return false;
  collectives_->last(facts.operation) = {call_signature::likeness(facts, call), facts.bytes, known,
                                         call_signature::of(facts, call, size_, known->by)};
  return true;
}

void Communicator::run_anew(CallFacts facts, const Call& asked, const AlgorithmSpec* algorithm) {
  Call call = asked;  // learn_numbers() makes broadcasts, which have one record
  Collectives::Set::Found found = collectives().find(facts, algorithm);
  const auto begin_found = [&] {
    return begin(call, call_signature::of(facts, call, size_, found.by), found.by);
  };
  const bool learns = collectives_->wants_numbers(facts, found);
  if (found.instance == nullptr || learns) begin_to_wait();
  if (__builtin_expect(learns, 0)) {
    {
      // Noted here too, so that a rank in another call is told of this one.
      const data_call::Inside inside(begin_found());
      check_whole();
      learn_numbers();
    }
    found = collectives_->find(facts, algorithm);
  }
  const data_call::Inside inside(begin_found());
  const std::uint64_t number = calls_.begun();
  check_whole();
  collectives_->run(collectives_->take(facts, algorithm, found), call, number);
}

void Communicator::note_elsewhere(SignatureWord call) {
  check_process();
  const std::uint64_t number = calls_.begin(call);
  if (board_ != nullptr) board_->note(rank_, number, CallNote{call, calls_.tag()});
  check_whole();
}

// All ranks are in the same large call, so all come here, and do what rank 0 finds in the group's memory.
//
//  1. Another communicator has learned the numbers: all take them.
//  2. Another one, which other threads call, is measuring: all go on with the numbers that they have, and the
//     next large call comes here again.
//  3. Neither: this communicator measures. The numbers are written before the last barrier, so whatever a
//     rank makes after this call begins with them.
void Communicator::learn_numbers() {
  struct {
    std::uint64_t measures;
    HostNumbers numbers;
  } told = {0, shape_.host()};
  LearnedNumbers& group = *memory_.learned;
  if (rank_ == 0 && !group.read(&told.numbers)) told.measures = group.claim() ? 1 : 0;
  broadcast(&told, sizeof told, 0);
  if (told.measures == 0) return use_numbers(told.numbers);
  calibrate(false);
  if (rank_ == 0) group.write(shape_.host());
  sync();
}

void Communicator::use_numbers(const HostNumbers& host) {
  {
    const RankWork::Hold work(*memory_.work);  // under which another thread of the rank may read the shape
    shape_.set_host(host);
  }
  hand_over_.set_host(host);
  if (collectives_) collectives_->choose_anew();
}

void Communicator::calibrate(bool anew) {
  check_process();
  HostNumbers host = shape_.host();  // what is not measured stays
  host.state = HostNumbers::built_in;
  const int peer = calibrating_peer(shape_);
  const HostNumbers::Sharing sharing = sharing_of(shape_);
  const bool alone = sharing == HostNumbers::pair;
  const auto measure = [&](bool part, const Calibrating& what) {
    std::unique_ptr<Communicator> ranks;
    try {
      ranks = split(part ? 0 : -1, rank_, calibrating_memory);
    } catch (const ResourceError&) {
      // The heap has no room, as all that take part see: the numbers stay.
    }
    if (ranks) host = calibrated(*ranks, what, anew);
    ranks.reset();
    broadcast(&host, sizeof host, 0);
  };
  if (peer > 0) {
    measure(rank_ == 0 || rank_ == peer,
            {true, sharing, alone, alone ? calibrating_ns : calibrating_copies_ns});
    if (!alone && host.disturbed == 0)
      measure(true, {false, sharing, true, calibrating_ns - calibrating_copies_ns});
  }
  if (shape_.tuning() != nullptr) shape_.tuning()->table.apply_numbers(&host);
  use_numbers(host);
}

// The twin, on which calls are begun, takes it too: after the calls begun before it, as on all ranks, or when
// it is made.
void Communicator::select_for_begun(Operation operation, const std::string& spec) {
  if (memory_.nonblocking != nullptr || size_ == 1) return;
  selected_[operation] = spec;
  if (nonblocking_) nonblocking_->select(operation, spec);
}

AlgorithmChoice Communicator::why(const Request& request) {
  AlgorithmChoice choice = why(facts_of(request, size_));
  if (request.algorithm != nullptr && request.algorithm->name != "auto") {
    choice = AlgorithmChoice();
    choice.spec = *request.algorithm;
    choice.why = "named in the call";
  }
  return choice;
}

AlgorithmChoice Communicator::why(const CallFacts& facts) {
  if (!moves_data(facts.operation)) {
    // What exists, or would be made: this call is not collective, so it makes nothing.
    if (barrier_) return {barrier_->spec(), reason_};
    AlgorithmChoice choice = first_barrier();
    choice.spec = family(Operation::barrier).effective(choice.spec, shape_);
    return choice;
  }
  return collectives().why(facts);
}

// The others, if there are any, have begun the call and would wait.
void Communicator::refuse_alone(const char* argument, const std::string& got, const std::string& allowed) {
  const ArgumentError error(argument, got, allowed);
  if (size() > 1) fail(error.what());
  throw error;
}

void Communicator::refuse_null(const char* argument, std::size_t bytes) {
  refuse_alone(argument, "null", "memory of " + std::to_string(bytes) + " bytes");
}

void Communicator::refuse_size(const char* argument, std::size_t got, std::size_t own) {
  refuse_alone(argument, std::to_string(got) + " bytes", "this rank's own count, " + std::to_string(own));
}

void Communicator::refuse_end(const char* argument, const Blocks& blocks) {
  for (int r = 0; r < size_; ++r) {
    const std::size_t count = blocks.counts[r], at = blocks.displacements[r];
    if (count != 0 && (at > SIZE_MAX / 2 || count > SIZE_MAX / 2 - at))
      refuse_alone(
          argument,
          std::to_string(count) + " bytes at " + std::to_string(at) + " for rank " + std::to_string(r),
          "blocks within the memory");
  }
}

// Of blocks with counts, if all ranks know them: what they compare, and choose by.
std::size_t Communicator::mean_block(const Request& request, const Extent& extent) const {
  const OperationRow& row = row_of(request.operation);
  if (!row.counts_known) return 0;
  return (row.reduces ? extent.sent : request_rules::sum_of(request.receive_blocks.counts, size_)) /
         static_cast<std::size_t>(size_);
}

// Of blocks with counts, before any of their memory is looked at.
void Communicator::check_ends(const Request& request, const Extent& extent) {
  if (extent.received == SIZE_MAX) refuse_end("receive", request.receive_blocks);
  if (extent.sent == SIZE_MAX) refuse_end("send", request.send_blocks);
}

// That a block is as long where it is sent as where it is received, as far as one rank sees both.
void Communicator::check_fit(const Request& request, const Extent& extent) {
  if (row_of(request.operation).reduces) return;
  if (!exchanges_pairs(request.operation)) {
    if (extent.block != extent.own)
      refuse_size(request_rules::gives_blocks(row_of(request.operation)) ? "receive" : "send", extent.block,
                  extent.own);
    return;
  }
  const std::size_t sent = request.send_blocks.counts[rank_], received = request.receive_blocks.counts[rank_];
  if (sent != received)
    refuse_alone("counts", std::to_string(received) + " bytes from this rank to itself",
                 "as many as it sends, " + std::to_string(sent));
}

void Communicator::refuse_overlap() {
  refuse_alone("receive", "memory that overlaps with send", "separate buffers, or in place");
}

// What every rank sends is about to be overwritten: a copy is sent, which lives as long as the call.
void Communicator::exchange_in_place(Request request) {
  using namespace request_rules;
  const std::size_t all =
      request.vector ? end_of(request.receive_blocks, size_)
                     : extent_of(row_of(request.operation), false, request, true, rank_, size_).received;
  if (all == SIZE_MAX) refuse_end("receive", request.receive_blocks);
  check_buffer("receive", request.receive, all);
  const auto* const from = static_cast<const unsigned char*>(request.receive);
  const auto copy = std::make_shared<std::vector<unsigned char>>(from, from + all);
  copy->reserve(1);  // an address, which says that it is not in place
  if (memory_.nonblocking != nullptr) memory_.nonblocking->keep(copy);
  request.send = copy->data();
  if (request.vector) request.send_blocks = request.receive_blocks;
  call(request);
}

namespace {

/// Where the blocks of a reduce_scatter begin: one after the other.
class Places {
 public:
  Places(const std::size_t* counts, int ranks) : far_(static_cast<std::size_t>(ranks <= few ? 0 : ranks)) {
    std::size_t* const at = far_.empty() ? near_ : far_.data();
    std::size_t total = 0;
    for (int r = 0; r < ranks; ++r) {
      at[r] = total;
      total += counts[r];
    }
    blocks_ = Blocks{counts, at};
  }
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;
  const Blocks& blocks() const { return blocks_; }

 private:
  static constexpr int few = 16;  // ranks, for which an allocation would take a good part of a small call
  std::size_t near_[few];
  std::vector<std::size_t> far_;
  Blocks blocks_;
};

}  // namespace

void Communicator::broadcast(void* buffer, std::size_t bytes, int root, By algorithm, unsigned type) {
  submit<Operation::broadcast>(Request::broadcast(buffer, bytes, root, algorithm, type));
}
void Communicator::reduce(const void* send, void* receive, std::size_t count, const Operator& op, int root,
                          By algorithm) {
  submit<Operation::reduce>(Request::reduce(send, receive, count, op, root, algorithm));
}
void Communicator::allreduce(const void* send, void* receive, std::size_t count, const Operator& op,
                             By algorithm) {
  submit<Operation::allreduce>(Request::allreduce(send, receive, count, op, algorithm));
}
void Communicator::scan(const void* send, void* receive, std::size_t count, const Operator& op,
                        By algorithm) {
  submit<Operation::scan>(Request::scan(send, receive, count, op, algorithm));
}
void Communicator::exscan(const void* send, void* receive, std::size_t count, const Operator& op,
                          By algorithm) {
  submit<Operation::scan>(Request::exscan(send, receive, count, op, algorithm));
}
void Communicator::reduce_scatter_block(const void* send, void* receive, std::size_t count,
                                        const Operator& op, By algorithm) {
  submit<Operation::reduce_scatter>(Request::reduce_scatter_block(send, receive, count, op, algorithm));
}
void Communicator::reduce_scatter(const void* send, void* receive, const std::size_t* counts,
                                  const Operator& op, By algorithm) {
  const Places places(counts, size_);
  Request request = Request::reduce_scatter(send, receive, counts, op, algorithm);
  request.send_blocks = places.blocks();
  submit<Operation::reduce_scatter, true>(request);
}
void Communicator::gather(const void* send, void* receive, std::size_t bytes, int root, By algorithm,
                          unsigned type) {
  submit<Operation::gather>(Request::gather(send, receive, bytes, root, algorithm, type));
}
void Communicator::scatter(const void* send, void* receive, std::size_t bytes, int root, By algorithm,
                           unsigned type) {
  submit<Operation::scatter>(Request::scatter(send, receive, bytes, root, algorithm, type));
}
void Communicator::allgather(const void* send, void* receive, std::size_t bytes, By algorithm,
                             unsigned type) {
  submit<Operation::allgather>(Request::allgather(send, receive, bytes, algorithm, type));
}
void Communicator::alltoall(const void* send, void* receive, std::size_t bytes, By algorithm, unsigned type) {
  submit<Operation::alltoall>(Request::alltoall(send, receive, bytes, algorithm, type));
}
void Communicator::gatherv(const void* send, std::size_t send_bytes, void* receive, const std::size_t* counts,
                           const std::size_t* displacements, int root, By algorithm, unsigned type) {
  submit<Operation::gather, true>(
      Request::gatherv(send, send_bytes, receive, counts, displacements, root, algorithm, type));
}
void Communicator::scatterv(const void* send, const std::size_t* counts, const std::size_t* displacements,
                            void* receive, std::size_t receive_bytes, int root, By algorithm, unsigned type) {
  submit<Operation::scatter, true>(
      Request::scatterv(send, counts, displacements, receive, receive_bytes, root, algorithm, type));
}
void Communicator::allgatherv(const void* send, std::size_t send_bytes, void* receive,
                              const std::size_t* counts, const std::size_t* displacements, By algorithm,
                              unsigned type) {
  submit<Operation::allgather, true>(
      Request::allgatherv(send, send_bytes, receive, counts, displacements, algorithm, type));
}
void Communicator::alltoallv(const void* send, const std::size_t* send_counts,
                             const std::size_t* send_displacements, void* receive, const std::size_t* counts,
                             const std::size_t* displacements, By algorithm, unsigned type) {
  submit<Operation::alltoall, true>(Request::alltoallv(send, send_counts, send_displacements, receive, counts,
                                                       displacements, algorithm, type));
}

}  // namespace phicoll
