#include "phicoll/group/communicator.hpp"

#include <cstring>
#include <exception>
#include <new>

#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/registry/make.hpp"
#include "phicoll/collectives/registry/signature.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/environment.hpp"
#include "phicoll/group/layout.hpp"
#include "phicoll/group/messages.hpp"
#include "phicoll/group/nonblocking.hpp"
#include "phicoll/group/profile.hpp"

namespace phicoll {

namespace {

const std::atomic<int> none_begun{0};

/// What was asked for, with `auto` resolved; then with the reason.
AlgorithmChoice resolved(const AlgorithmSpec& asked, const Shape& shape, std::size_t region_bytes) {
  if (asked.name != "auto") return {asked, std::string()};
  AlgorithmChoice choice = automatic_choice(shape, CallFacts(), region_bytes);
  choice.spec.wait_as(asked);
  return choice;
}

}  // namespace

Barrier::Barrier(Communicator& owner, const AlgorithmSpec& spec, const std::size_t* place)
    : calls_(&owner.calls_),
      port_(*owner.memory_.control, owner.rank_, spec.has_wait ? spec.wait : owner.wait_, &owner.calls_),
      owner_(&owner),
      spec_(in_effect(spec, owner.shape_, CallFacts())) {
  owner.equip(port_);
  block_ = owner.take_zeroed(family(Operation::barrier).footprint(spec_, owner.shape_), place);
  try {
    algorithm_ = owner.made(Operation::barrier, spec_,
                            Setup{owner.rank_, owner.shape_, owner.memory_.region + block_.offset},
                            port_.wait_policy());
  } catch (const std::exception& error) {
    // Only this rank failed (its heap is full, say): the others have the barrier and would wait in it.
    owner.memory_.control->break_group(owner.rank_, error.what());
    throw;
  }
}

Barrier::Barrier(Communicator& owner, const std::string& spec)
    : Barrier(owner, family(Operation::barrier).parse(spec), nullptr) {}

Barrier::~Barrier() {
  release();
}

Barrier& Barrier::operator=(Barrier&& other) {
  if (this != &other) {
    release();
    calls_ = other.calls_;
    algorithm_ = std::move(other.algorithm_);
    port_ = other.port_;
    owner_ = other.owner_;
    block_ = other.block_;
    spec_ = std::move(other.spec_);
  }
  return *this;
}

void Barrier::release() {
  if (algorithm_) owner_->region_.give_back(block_);
  algorithm_.reset();
}

Communicator::Communicator(const GroupMemory& memory, int rank, const Shape& shape, const WaitPolicy& wait)
    : barrier_port_(*memory.control, rank, wait, &calls_),
      board_(memory.control->board()),
      begun_(&none_begun),
      memory_(memory),
      rank_(rank),
      shape_(shape),
      size_(shape.size()),
      wait_(wait),
      region_(memory.region_bytes, memory.used_before),
      port_(*memory.control, rank, WaitPolicy{}, &calls_),
      sync_(make_collective<NativePort>(Operation::barrier, family(Operation::barrier).parse(sync_algorithm),
                                        Setup{rank, shape_, memory.sync})),
      hand_over_(shape.host()),
      heap_(*memory.control, memory.control->root_rank(rank), memory.heap, memory.reserve_heap),
      first_numbers_(shape.host()) {
  if (!memory_.work) memory_.work = std::make_shared<RankWork>();
  equip(port_);
  equip(barrier_port_);
  CallBoard::set_describe(&call_signature::in_words);
  if (memory_.nonblocking != nullptr) return;
  begun_ = &memory_.work->begun();
  memory_.work->begin_communicator(mailbox_);
}

Communicator::~Communicator() {
  collectives_.reset();
  barrier_.reset();
  const bool unwinding = std::uncaught_exception() || abandoned_;
  if (in_own_process() && !std::uncaught_exception()) try {
      wait_for_all();
    } catch (const std::exception&) {
      // The group is broken, by this rank perhaps: nobody receives what it sent, or waits for what it has
      // begun.
    }
  nonblocking_.reset();
  if (memory_.nonblocking == nullptr) memory_.work->end_communicator(mailbox_);
  delete messages_.load(std::memory_order_relaxed);  // no other thread comes here any more
  if (!in_own_process()) return;                     // it is not this process that leaves
  if (memory_.block != nullptr) {
    // The last rank gives the memory back: the others do not use it any more.
    if (memory_.control->leave(rank_, calls_, unwinding)) try {
        GroupChannels::give_back(*memory_.control, heap_);
        heap_.give_back_part(memory_.block);
      } catch (const Error&) {
        // The group is broken, and a rank died while it held the heap's lock: the heap is not used again.
      }
  } else if (!unwinding) {
    // A rank that unwinds breaks the group, with its exception's reason. Only an orderly end is a leave.
    memory_.control->leave(rank_, calls_);
  }
}

void Communicator::wait_for_all() {
  check_process();
  if (nonblocking_) nonblocking_->wait_for_all();
  if (Messages* const own = messages_.load(std::memory_order_acquire)) own->send_all();
}

void Communicator::abandon() {
  abandoned_ = true;
  if (nonblocking_) nonblocking_->abandon();
}

void Communicator::Mailbox::meet_messages() {
  if (own_.messages_.load(std::memory_order_relaxed) != nullptr ||
      own_.memory_.control->messages().atomic().load(std::memory_order_acquire) == 0)
    return;
  try {
    own_.make_messages();
  } catch (const std::bad_alloc&) {
    return;  // they stay in their channels
  }
}

void Communicator::look() {
  check_process();
  if (__builtin_expect(memory_.control->broken(), 0)) memory_.control->check_broken(rank_);
  const bool moved = memory_.work->look(nullptr);
  const WaitNote anything = {WaitNote::Kind::receive, any_source, any_tag, 0};
  memory_.work->end_look(moved, [&] { return RankWork::Looked{*memory_.control, rank_, anything}; });
}

void Communicator::set_interpreter(Interpreter* interpreter) {
  memory_.work->set_interpreter(interpreter);
}

void Communicator::set_progress(void (*progress)()) {
  check_process();
  memory_.work->set_progress(progress);
}

void Communicator::fail(const std::exception& error) {
  std::string text = error.what();
  text = text.substr(0, text.find('\n'));
  const std::string none = ": <EMPTY MESSAGE>";  // how pybind11 ends an exception of Python's without a text
  if (text.size() > none.size() && text.compare(text.size() - none.size(), none.size(), none) == 0)
    text.resize(text.size() - none.size());
  fail("raised " + text);
}

Nonblocking& Communicator::nonblocking() {
  check_process();
  if (!nonblocking_) {
    nonblocking_.reset(new Nonblocking(*this));
    for (const auto& one : selected_) nonblocking_->select(one.first, one.second);
  }
  return *nonblocking_;
}

void Communicator::equip(NativePort& port) const {
  port.set_background(memory_.work.get());
  if (memory_.nonblocking != nullptr) port.set_elsewhere(memory_.nonblocking->elsewhere());
}

std::unique_ptr<AnyCollective<NativePort>> Communicator::made(Operation operation, const AlgorithmSpec& spec,
                                                              const Setup& setup,
                                                              const WaitPolicy& wait) const {
  std::unique_ptr<AnyCollective<NativePort>> algorithm = make_collective<NativePort>(operation, spec, setup);
  if (memory_.nonblocking == nullptr)
    return watched(std::move(algorithm), operation, spec, *memory_.control, rank_, size_);
  return memory_.nonblocking->entered_here(std::move(algorithm), wait);
}

// Before what may wait for other ranks, when nothing of the call has been done yet.
void Communicator::begin_to_wait() const {
  if (memory_.nonblocking != nullptr && memory_.nonblocking->starts_here()) throw Nonblocking::NotYet();
}

std::shared_ptr<CollectiveRequest> Communicator::prepare(std::function<void(Communicator&)> call) {
  return std::make_shared<CollectiveRequest>(std::move(call), true);
}

std::shared_ptr<CollectiveRequest> Communicator::begin(std::function<void(Communicator&)> call) {
  const auto request = std::make_shared<CollectiveRequest>(std::move(call));
  begin(request);
  return request;
}

std::shared_ptr<CollectiveRequest> Communicator::prepare(const Request& request) {
  return std::make_shared<CollectiveRequest>(request, rank_, size_);
}

std::shared_ptr<CollectiveRequest> Communicator::begin(const Request& request) {
  const auto begun = prepare(request);
  begin(begun);
  return begun;
}

void Communicator::begin(const std::shared_ptr<CollectiveRequest>& request) {
  if (__builtin_expect(nonblocking_ != nullptr && home_.here() && request, 1))
    return nonblocking_->begin(request);
  begin_first(request);
}

void Communicator::begin_first(const std::shared_ptr<CollectiveRequest>& request) {
  check_process();
  if (!request) throw ArgumentError("request", "none", "one that prepare() or begin() returned");
  if (size_ > 1) return nonblocking().begin(request);
  request->call(*this);  // alone it waits for nobody
}

bool Communicator::test(CollectiveRequest& request) {
  if (!request.done) {
    check_process();
    RankWork& work = *memory_.work;
    work.begin_look();
    const bool moved = work.look(nullptr);
    const WaitNote call = {WaitNote::Kind::nonblocking, any_source, any_tag, 0};
    work.end_look(moved || request.done, [&] { return RankWork::Looked{*memory_.control, rank_, call}; });
    if (!request.done) return false;
  }
  if (nonblocking_) nonblocking_->wait(request);  // for its error
  return true;
}

void Communicator::wait(CollectiveRequest& request) {
  if (!nonblocking_) return;
  if (__builtin_expect(home_.here(), 1)) return nonblocking_->wait(request);
  wait_in_fork(request);
}

void Communicator::wait_in_fork(CollectiveRequest& request) {
  check_process();
  nonblocking_->wait(request);
}

// fork() has copied all of it, and no other process knows the copy.
bool Communicator::has_private_copy() const {
  const Control& whole = memory_.control->root();
  return whole.ranks() == 1 && !whole.shared();
}

void Communicator::enter_from_fork() {
  if (!has_private_copy())
    throw Error("this process was forked by rank " + std::to_string(root_rank()) +
                " and is not a rank of its group; allowed: calls by the rank's own process");
  home_ = os::HomeProcess();
}

void Communicator::sync() {
  calls_.begin();
  sync_->bare()(*sync_, port_);
}

// Algorithms stay after a call, because the next one may need them. If one more has no room, the least
// recently used ones end; a later call makes them again. All ranks know alike what memory is taken, so all do
// the same, and take_zeroed waits until no rank is in a former use.
void Communicator::make_room(std::size_t bytes) {
  if (collectives_) collectives_->make_room(region_, bytes);
}

// Memory that was never used is zero already, and peers that come first may write to it before this rank is
// here. Memory that was used is zeroed by rank 0 between two barriers: after the first, no rank is in its
// former use; before the second, none is in its next.
Region::Block Communicator::take_zeroed(std::size_t bytes, const std::size_t* place) {
  check_process();
  if (place == nullptr) make_room(bytes);
  const Region::Block block = place != nullptr ? region_.take_at(*place, bytes) : region_.take(bytes);
  if (memory_.reserve) try {
      reserve_own_part(block);
    } catch (const std::exception& error) {
      // No memory is left for this rank's part, which the others cannot know.
      memory_.control->break_group(rank_, error.what());
      throw;
    }
  if (block.used_before) {
    sync();
    if (rank_ == 0) std::memset(memory_.region + block.offset, 0, block.bytes);
    sync();
  }
  return block;
}

// Each rank marks all pages of the block, and takes its own share of those that were not taken before.
void Communicator::reserve_own_part(const Region::Block& block) {
  const std::size_t first = block.offset / page_bytes;
  const std::size_t pages = (block.offset + block.bytes - 1) / page_bytes - first + 1;
  reserved_.resize((memory_.region_bytes + page_bytes - 1) / page_bytes, false);
  std::size_t run = 0;  // own pages in a row that are still to be taken
  for (std::size_t i = 0; i <= pages; ++i) {
    const bool mine = i < pages && !reserved_[first + i] &&
                      i * static_cast<std::size_t>(size()) / pages == static_cast<std::size_t>(rank_);
    if (i < pages) reserved_[first + i] = true;
    if (mine) {
      ++run;
    } else if (run != 0) {
      memory_.reserve((first + i - run) * page_bytes, run * page_bytes);
      run = 0;
    }
  }
}

AlgorithmChoice Communicator::first_barrier() const {
  check_environment();
  const EnvironmentChoice given = environment_choice(Operation::barrier);
  AlgorithmChoice choice =
      resolved(given ? given.spec : family(Operation::barrier).parse("auto"), shape_, region_.bytes());
  if (given && given.spec.name != "auto") choice.why = given.why();
  return choice;
}

void Communicator::begin_with_barrier() {
  begin_to_wait();
  AlgorithmChoice choice = first_barrier();
  select(Operation::barrier, choice.spec, nullptr);
  reason_ = std::move(choice.why);
}

void Communicator::select(Operation operation, const std::string& spec) {
  select(operation, family(operation).parse(spec), nullptr);
  select_for_begun(operation, spec);
}

void Communicator::select_at(Operation operation, const AlgorithmSpec& spec, std::size_t place) {
  select(operation, spec, &place);
}

void Communicator::select(Operation operation, const AlgorithmSpec& asked, const std::size_t* place) {
  if (moves_data(operation)) return collectives().select(operation, asked, place);
  AlgorithmChoice choice = resolved(asked, shape_, region_.bytes());
  const AlgorithmSpec& spec = choice.spec;
  // All ranks find out whether it fits before the former barrier ends, so that a refusal has no effect.
  const Family& barriers = family(Operation::barrier);
  const std::size_t bytes = barriers.footprint(barriers.effective(spec, shape_), shape_);
  Region trial = region_;
  if (barrier_) trial.give_back(barrier_->block_);
  if (place == nullptr && collectives_) collectives_->give_back_to(trial);  // see make_room
  if (place != nullptr)
    trial.take_at(*place, bytes);
  else
    trial.take(bytes);
  enter_ = nullptr;
  if (collectives_) collectives_->forget_made();
  barrier_.reset();
  barrier_.reset(new Barrier(*this, spec, place));
  reason_ = std::move(choice.why);
  barrier_port_ = barrier_->port_;
  entered_ = barrier_->algorithm_.get();
  enter_ = entered_->bare();
}

}  // namespace phicoll
