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

namespace phicoll {

namespace {

/// What was asked for, with `auto` resolved; then with the reason.
AlgorithmChoice resolved(const AlgorithmSpec& asked, const Shape& shape, std::size_t region_bytes) {
  if (!asked.is_auto()) return {asked, std::string()};
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
  const std::size_t bytes = family(Operation::barrier).footprint(spec_, owner.shape_);
  owner.check_process();
  if (place == nullptr) owner.make_room(bytes);
  block_ = owner.take_zeroed(bytes, place);
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
    : PointToPoint(memory, rank, shape, wait),
      barrier_port_(*memory.control, rank, wait, &calls_),
      first_numbers_(shape.host()) {
  equip(barrier_port_);
  if (memory.nonblocking == nullptr) memory_.work->begin_communicator(mailbox_);
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
  end_messages();
  if (!in_own_process()) return;  // it is not this process that leaves
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

// Algorithms stay after a call, because the next one may need them. If one more has no room, the least
// recently used ones end; a later call makes them again. All ranks know alike what memory is taken, so all do
// the same, and take_zeroed waits until no rank is in a former use.
void Communicator::make_room(std::size_t bytes) {
  if (collectives_) collectives_->make_room(region_, bytes);
}

AlgorithmChoice Communicator::first_barrier() const {
  check_environment();
  const EnvironmentChoice given = environment_choice(Operation::barrier);
  AlgorithmChoice choice =
      resolved(given ? given.spec : family(Operation::barrier).parse(auto_name), shape_, region_.bytes());
  if (given && !given.spec.is_auto()) choice.why = given.why();
  return choice;
}

void Communicator::begin_with_barrier() {
  begin_to_wait();
  AlgorithmChoice choice = first_barrier();
  select(Operation::barrier, choice.spec, nullptr);
  reason_ = std::move(choice.why);
}

void Communicator::select(Operation operation, const std::string& spec) {
  const AlgorithmSpec parsed = family(operation).parse(spec);
  select(operation, parsed, nullptr);
  select_for_begun(operation, parsed);
}

void Communicator::reproducible(bool on) {
  for (int o = 0; o < operations; ++o)
    if (operation_rows[o].reduces)
      select(static_cast<Operation>(o), on ? std::string("auto:") + reproducible_parameter + "=yes" : "auto");
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
