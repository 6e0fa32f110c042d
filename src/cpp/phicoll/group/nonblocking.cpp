#include "phicoll/group/nonblocking.hpp"

#include <mutex>
#include <string>
#include <utility>

#include "phicoll/errors.hpp"
#include "phicoll/group/communicator.hpp"

namespace phicoll {

namespace {

// Touched as far as it is used. An exception of an interpreter's says its words there.
constexpr std::size_t stack_bytes = std::size_t{1} << 20;

// Whose stack this thread is on.
thread_local Nonblocking* current = nullptr;
// Whose operator this thread is in, the innermost one.
thread_local Nonblocking* in_operator = nullptr;

}  // namespace

Nonblocking::Nonblocking(Communicator& owner)
    : owner_(owner),
      inner_(owner.twin(*this)),
      port_(inner_->control(), inner_->rank(), inner_->wait_policy(), &inner_->calls_, nullptr, &stuck_),
      fiber_(new os::Fiber([this] { run_all(); }, stack_bytes)) {
  port_.set_background(owner.background_);
  owner.memory_.work->add(*this);
}

Nonblocking::~Nonblocking() {
  owner_.memory_.work->remove(*this);
  if (owner_.in_own_process())
    end_all();
  else
    fiber_.release();  // its stack is a copy of what the parent goes on with
}

bool Nonblocking::ready() const {
  return look_ == nullptr || ending_ || look_(awaited_) || inner_->control().broken();
}

bool Nonblocking::go_on() {
  if (!pending() || !lock_.try_lock()) return false;
  const std::lock_guard<ThreadLock> own(lock_, std::adopt_lock);
  const bool moves = ready();
  if (moves) move();
  return moves;
}

void Nonblocking::move() {
  Nonblocking* const before = std::exchange(current, this);
  fiber_->resume();
  while (job_ != nullptr) {
    current = before;
    outer_ = std::exchange(in_operator, this);
    try {
      (*job_)();
    } catch (...) {
      job_error_ = std::current_exception();
    }
    in_operator = outer_;
    job_ = nullptr;
    current = this;
    fiber_->resume();
  }
  current = before;
  ended_.clear();
}

void Nonblocking::run_all() {
  for (;;) {
    while (!queue_.empty()) run_first();
    fiber_->suspend();
  }
}

void Nonblocking::run_first() {
  first_ = std::move(queue_.front());
  queue_.pop_front();
  try {
    if (ending_) inner_->control().check_broken(inner_->rank());
    first_->call(*inner_);
  } catch (const ArgumentError&) {
    first_->error = std::current_exception();  // as all ranks see it, or the group is broken by it
  } catch (const std::exception& error) {
    // Perhaps nobody waits for this one: the others must not wait for its rest.
    inner_->fail(error);
    first_->error = std::current_exception();
  } catch (...) {
    inner_->fail("raised something that is not an exception");
    first_->error = std::current_exception();
  }
  ended_.push_back(std::move(first_->kept));
  unfinished_.store(queue_.size(), std::memory_order_release);
  first_->done = true;  // release: who sees it done sees the result
  first_.reset();
}

// On the call's own stack.
void Nonblocking::wait(Look look, const void* awaited) {
  look_ = look;
  awaited_ = awaited;
  fiber_->suspend();
  look_ = nullptr;
}

void Nonblocking::on_callers_stack(const std::function<void()>& job) {
  Nonblocking* const self = current;
  if (self == nullptr) return job();
  self->job_ = &job;
  self->fiber_->suspend();
  if (self->job_error_) std::rethrow_exception(std::exchange(self->job_error_, nullptr));
}

// This thread would wait for itself: it holds the lock.
void Nonblocking::check_outside() const {
  for (const Nonblocking* one = in_operator; one != nullptr; one = one->outer_)
    if (one == this)
      throw Error(
          "an operator of a call on this communicator called it; allowed: calls on other communicators");
}

void Nonblocking::begin(const Shared& request) {
  check_outside();
  if (!request->done) throw ArgumentError("request", "one that is active", "one that has ended");
  request->done = false;
  request->error = nullptr;
  {
    const std::lock_guard<ThreadLock> own(lock_);
    queue_.push_back(request);
    unfinished_.store(queue_.size() + (first_ ? 1 : 0), std::memory_order_release);
    if (ready()) move();
  }
  if (request->done && request->error) std::rethrow_exception(std::exchange(request->error, nullptr));
}

void Nonblocking::wait(CollectiveRequest& request) {
  check_outside();
  if (!request.done && lock_.try_lock()) {
    const std::lock_guard<ThreadLock> own(lock_, std::adopt_lock);
    for (unsigned left = port_.looks_in_place(); left != 0 && !request.done; --left)
      ready() ? move() : arch::look_gap();
  }
  if (!request.done) {
    stuck_.note = WaitNote{WaitNote::Kind::nonblocking, -1, -1, inner_->calls()};
    NativePort::Patience patience;
    try {
      while (!request.done) port_.take_turn(patience);
    } catch (...) {
      // A group that waited too long is broken too. The calls' buffers are the caller's again.
      if (inner_->control().broken()) end_all();
      throw;
    }
  }
  if (request.error) std::rethrow_exception(std::exchange(request.error, nullptr));
}

Nonblocking::Shared Nonblocking::last() {
  const std::lock_guard<ThreadLock> own(lock_);
  return queue_.empty() ? first_ : queue_.back();
}

void Nonblocking::wait_for_all() {
  check_outside();
  while (const Shared last = this->last()) wait(*last);
}

void Nonblocking::abandon() {
  inner_->abandon();
}

// The calls leave in order, as others may be copying from their buffers: see Collectives::wait_for_readers.
void Nonblocking::end_all() {
  if (!pending()) return;
  if (!inner_->control().broken())
    inner_->control().break_group(inner_->rank(), "left in the middle of a nonblocking call");
  ending_ = true;
  while (pending()) go_on();
  ending_ = false;
}

}  // namespace phicoll
