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
//  2. Another one, which other threads call, is measuring: all go on with the numbers that they have, and the next large
//     call comes here again.
//  3. Neither: this communicator measures. The numbers are written before the last barrier, so whatever a rank makes after
//     this call begins with them.
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

// The twin, on which calls are begun, takes it too: after the calls begun before it, as on all ranks, or when it is
// made.
void Communicator::select_for_begun(Operation operation, const std::string& spec) {
  if (memory_.nonblocking != nullptr || size_ == 1) return;
  selected_[operation] = spec;
  if (nonblocking_) nonblocking_->select(operation, spec);
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

void Communicator::refuse_overlap() {
  refuse_alone("receive", "memory that overlaps with send", "separate buffers, or in place");
}

void Communicator::broadcast(void* buffer, std::size_t bytes, int root, const AlgorithmSpec* algorithm,
                             unsigned type) {
  check_root(root);
  check_buffer("buffer", buffer, bytes);
  Call& call = broadcast_;
  call.op.id = id_of(type);
  call.receive = data_at(buffer);
  call.count = bytes;
  call.root = root;
  run(facts_of(Operation::broadcast, bytes), call, algorithm);
}

void Communicator::reduce(const void* send, void* receive, std::size_t count, const Operator& op, int root,
                          const AlgorithmSpec* algorithm) {
  check_root(root);
  const std::size_t bytes = bytes_of(count, op);
  Call& call = reduce_;
  if (rank_ == root) {
    check_buffer("receive", receive, bytes);
    if (send != nullptr && send != receive) check_apart(send, bytes, receive, bytes);
    call.receive = data_at(receive);
    call.send = send != nullptr ? data_at(send) : call.receive;
  } else {
    check_buffer("send", send, bytes);
    call.receive = Data();
    call.send = data_at(send);
  }
  call.count = count;
  call.root = root;
  call.op = op;
  run(facts_of(Operation::reduce, bytes, op), call, algorithm);
}

// Operations in which every rank sends and receives `count` elements. Inlined for each, as run() is.
[[gnu::always_inline]] inline void Communicator::reduction(Operation operation, const void* send,
                                                           void* receive, std::size_t count,
                                                           const Operator& op, bool exclusive,
                                                           const AlgorithmSpec* algorithm) {
  const std::size_t bytes = bytes_of(count, op);
  check_buffer("receive", receive, bytes);
  if (send != nullptr && send != receive) check_apart(send, bytes, receive, bytes);
  Call call;
  call.receive = data_at(receive);
  call.send = send != nullptr ? data_at(send) : call.receive;
  call.count = count;
  call.exclusive = exclusive;
  call.op = op;
  CallFacts facts = facts_of(operation, bytes, op);
  facts.exclusive = exclusive;
  run(facts, call, algorithm);
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

void Communicator::gather(const void* send, void* receive, std::size_t bytes, int root,
                          const AlgorithmSpec* algorithm, unsigned type) {
  check_root(root);
  const std::size_t all = blocks_of(bytes, size());
  const std::size_t offset = bytes * static_cast<std::size_t>(rank_);
  Call call;
  call.op.id = id_of(type);
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
                           const AlgorithmSpec* algorithm, unsigned type) {
  check_root(root);
  const std::size_t all = blocks_of(bytes, size());
  const std::size_t offset = bytes * static_cast<std::size_t>(rank_);
  Call call;
  call.op.id = id_of(type);
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
                             const AlgorithmSpec* algorithm, unsigned type) {
  const std::size_t all = blocks_of(bytes, size());
  check_buffer("receive", receive, all);
  Call& call = exchange_;
  call.op.id = id_of(type);
  call.receive = data_at(receive);
  call.send = own_block("send", send, bytes, receive, all, bytes * static_cast<std::size_t>(rank_), bytes);
  call.count = bytes;
  run(facts_of(Operation::allgather, bytes), call, algorithm);
}

// A copy for this call, which lives as long as the call and `memory`.
const void* Communicator::copy_of(const void* data, std::size_t bytes, std::shared_ptr<void>* memory) const {
  const auto* const from = static_cast<const unsigned char*>(data);
  const auto copy = std::make_shared<std::vector<unsigned char>>(from, from + bytes);
  if (memory_.nonblocking != nullptr) memory_.nonblocking->keep(copy);
  *memory = copy;
  return copy->data();
}

void Communicator::alltoall(const void* send, void* receive, std::size_t bytes,
                            const AlgorithmSpec* algorithm, unsigned type) {
  const std::size_t all = blocks_of(bytes, size());
  check_buffer("receive", receive, all);
  if (__builtin_expect(send == nullptr && all != 0, 0)) {
    std::shared_ptr<void> before;  // what is sent is about to be overwritten
    return alltoall(copy_of(receive, all, &before), receive, bytes, algorithm, type);
  }
  check_apart(send, all, receive, all);
  Call& call = exchange_;
  call.op.id = id_of(type);
  call.send = data_at(send);
  call.receive = data_at(receive);
  call.count = bytes;
  run(facts_of(Operation::alltoall, bytes), call, algorithm);
}

}  // namespace phicoll
