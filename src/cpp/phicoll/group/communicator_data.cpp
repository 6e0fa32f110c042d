// The calls of a Communicator that move data: arguments checked and brought into the form that algorithms
// take.

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
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

// Whether an instance is known that serves the call: that of its operation's last call. While the host's
// numbers are wanted each large call comes here, as its likeness is not kept, and some go on to run_anew().
bool Communicator::look_up(CallFacts facts, const Call& call) {
  Collectives::Set::Instance* const known = collectives_->known(facts);
  const bool wanted = collectives_->counts_to_numbers(facts);
  if (known == nullptr || (wanted && collectives_->asks_for_numbers())) return false;
  collectives_->last(facts.operation) = {wanted ? 0 : call_signature::likeness(facts, call), facts.bytes,
                                         known, call_signature::of(facts, call, size_, known->by)};
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
      const Inside inside(begin_found());
      check_whole();
      learn_numbers();
    }
    found = collectives_->find(facts, algorithm);
  }
  const Inside inside(begin_found());
  const std::uint64_t number = calls_.begun();
  check_whole();
  collectives_->run(collectives_->take(facts, algorithm, found), call, number);
}

void Communicator::note_elsewhere(SignatureWord call) {
  check_process();
  const std::uint64_t number = calls_.begin(call);
  if (board_ != nullptr) board_->note(rank_, number, call, calls_.tag());
  check_whole();
}

// All ranks are in the same large call, so all come here, and do what rank 0 finds in the group's memory.
//
//  1. Another communicator has learned the numbers: all take them.
//  2. Another one, which other threads call, is measuring: all go on with the numbers that they have, and the
//     next large call comes here again.
//  3. It is too early (GroupOptions): likewise, but more and more calls pass before one comes again.
//  4. Else this communicator measures. The numbers are written before the last barrier, so whatever
//     a rank makes after this call begins with them.
void Communicator::learn_numbers() {
  using Claim = LearnedNumbers::Claim;
  struct {
    std::uint64_t learned;
    Claim claim;
    HostNumbers numbers;
  } told = {0, Claim::taken, shape_.host()};
  LearnedNumbers& group = *memory_.learned;
  if (rank_ == 0) {
    told.learned = group.read(&told.numbers) ? 1 : 0;
    if (told.learned == 0) told.claim = group.claim();
  }
  broadcast(&told, sizeof told, 0);
  if (told.learned != 0) return use_numbers(told.numbers);
  if (told.claim == Claim::early) collectives_->ask_for_numbers_later();
  if (told.claim != Claim::granted) return;
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

AlgorithmChoice Communicator::why(const Request& request) {
  if (!moves_data(request.operation)) {
    // What exists, or would be made: this call is not collective, so it makes nothing.
    if (barrier_) return {barrier_->spec(), reason_};
    AlgorithmChoice choice = first_barrier();
    choice.spec = family(Operation::barrier).effective(choice.spec, shape_);
    return choice;
  }
  const CallFacts facts = facts_of(request, size_);
  AlgorithmChoice choice;
  if (request.algorithm == nullptr || request.algorithm->is_auto()) {
    choice = collectives().why(request.algorithm == nullptr ? facts : asked_of(*request.algorithm, facts));
  } else {
    choice.spec = *request.algorithm;
    choice.why = "named in the call";
  }
  family(request.operation).check_fit(choice.spec, shape_, facts);
  return choice;
}

namespace data_call {

// The others, if there are any, have begun the call and would wait.
void refuse_alone(Member& by, const char* argument, const std::string& got, const std::string& allowed) {
  const ArgumentError error(argument, got, allowed);
  if (by.size() > 1) by.fail(error.what());
  throw error;
}

void refuse_null(Member& by, const char* argument, std::size_t bytes) {
  refuse_alone(by, argument, "null", "memory of " + std::to_string(bytes) + " bytes");
}

void refuse_size(Member& by, const char* argument, std::size_t got, std::size_t own) {
  refuse_alone(by, argument, std::to_string(got) + " bytes", "this rank's own count, " + std::to_string(own));
}

void refuse_end(Member& by, const char* argument, const Blocks& blocks) {
  for (int r = 0; r < by.size(); ++r) {
    const std::size_t count = blocks.counts[r], at = blocks.displacements[r];
    if (count != 0 && (at > SIZE_MAX / 2 || count > SIZE_MAX / 2 - at))
      refuse_alone(
          by, argument,
          std::to_string(count) + " bytes at " + std::to_string(at) + " for rank " + std::to_string(r),
          "blocks within the memory");
  }
}

// The size that ranks compare and choose by in a call with counts; 0 if not all ranks know the counts.
std::size_t mean_block(const Request& request, const request_rules::Extent& extent, int ranks) {
  const OperationRow& row = row_of(request.operation);
  if (!row.counts_known) return 0;
  return (row.reduces ? extent.sent : request_rules::sum_of(request.receive_blocks.counts, ranks)) /
         static_cast<std::size_t>(ranks);
}

// Checks where blocks with counts end, before any of their memory is looked at.
void check_ends(Member& by, const Request& request, const request_rules::Extent& extent) {
  if (extent.received == SIZE_MAX) refuse_end(by, "receive", request.receive_blocks);
  if (extent.sent == SIZE_MAX) refuse_end(by, "send", request.send_blocks);
}

// Checks that a block is sent and received with the same length, as far as one rank sees both.
void check_fit(Member& by, const Request& request, const request_rules::Extent& extent) {
  if (row_of(request.operation).reduces) return;
  if (!exchanges_pairs(request.operation)) {
    if (extent.block != extent.own)
      refuse_size(by, request_rules::gives_blocks(row_of(request.operation)) ? "receive" : "send",
                  extent.block, extent.own);
    return;
  }
  const std::size_t sent = request.send_blocks.counts[by.rank()],
                    received = request.receive_blocks.counts[by.rank()];
  if (sent != received)
    refuse_alone(by, "counts", std::to_string(received) + " bytes from this rank to itself",
                 "as many as it sends, " + std::to_string(sent));
}

void refuse_overlap(Member& by) {
  refuse_alone(by, "receive", "memory that overlaps with send", "separate buffers, or in place");
}

}  // namespace data_call

// What every rank sends is about to be overwritten: a copy is sent, which lives as long as the call.
void Communicator::exchange_in_place(Request request) {
  using namespace request_rules;
  const std::size_t all =
      request.vector ? end_of(request.receive_blocks, size_)
                     : extent_of(row_of(request.operation), false, request, true, rank_, size_).received;
  if (all == SIZE_MAX) refuse_end(*this, "receive", request.receive_blocks);
  check_buffer(*this, "receive", request.receive, all);
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

/// What a call is made of: the request as it is given, or a reduction's with counts, whose blocks lie one
/// after the other.
struct AsGiven {
  AsGiven(const Request& given, int) : request(given) {}
  const Request& request;
};
struct WithPlaces {
  WithPlaces(const Request& given, int ranks) : places(given.send_blocks.counts, ranks), request(given) {
    request.send_blocks = places.blocks();
  }
  const Places places;
  Request request;
};

constexpr int calls_listed() {
  int calls = 0;
#define PHICOLL_METHOD(...) ++calls;
  PHICOLL_CALLS(PHICOLL_METHOD)
#undef PHICOLL_METHOD
  return calls;
}
constexpr int calls_of_operations() {
  int calls = 0;
  for (const OperationRow& row : operation_rows)
    if (row.receives != Part::none)
      calls += 1 + (row.vector_name != nullptr ? 1 : 0) + (row.exclusive_name != nullptr ? 1 : 0);
  return calls;
}
static_assert(calls_listed() == calls_of_operations(),
              "PHICOLL_CALLS (contract/request.hpp) has a row for each operation that moves data, and for "
              "each of its versions");

}  // namespace

#define PHICOLL_METHOD(name, operation, counted, exclusive, kind, parameters, arguments, of_request)    \
  void Communicator::name(PHICOLL_LISTED parameters, PHICOLL_TAKEN_##kind) {                            \
    using Made = std::conditional<counted && reduces(Operation::operation), WithPlaces, AsGiven>::type; \
    submit<Operation::operation, counted>(                                                              \
        Made(Request::name(PHICOLL_LISTED arguments, PHICOLL_PASSED_##kind), size_).request);           \
  }
PHICOLL_CALLS(PHICOLL_METHOD)
#undef PHICOLL_METHOD

}  // namespace phicoll
