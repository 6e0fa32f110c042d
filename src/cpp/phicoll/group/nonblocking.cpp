#include "phicoll/group/nonblocking.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>

#include "phicoll/errors.hpp"
#include "phicoll/group/call_arguments.hpp"

namespace phicoll {

namespace {

// Bytes of a stack, whose pages are taken as they are used. An interpreter's exceptions make their messages
// there.
constexpr std::size_t stack_bytes = std::size_t{1} << 20;

// The object on whose stack this thread runs.
thread_local Nonblocking* current = nullptr;
// The innermost object in whose call, and perhaps in whose operator, this thread is.
thread_local Nonblocking* in_operator = nullptr;

[[noreturn, gnu::cold, gnu::noinline]] void refuse_inside() {
  throw Error("an operator of a call on this communicator called it; allowed: calls on other communicators");
}
[[noreturn, gnu::cold, gnu::noinline]] void refuse_active() {
  throw ArgumentError("request", "one that is active", "one that has ended");
}

}  // namespace

BegunCall::BegunCall(const Request& of, int rank, int ranks) : request(of) {
  done = true;
  if (of.op != nullptr) request.op = &(operator_ = *of.op);
  if (of.algorithm != nullptr) request.algorithm = &(algorithm_ = *of.algorithm);
  // Counts are known on the root only: on other ranks they may be anything.
  const bool known = of.vector && request_rules::at_root(row_of(of.operation), of.root, rank);
  const auto keep = [&](OwnBlocks& own, Blocks& blocks) {
    blocks = known && blocks.counts != nullptr ? *own.keep(blocks, ranks) : Blocks();
  };
  keep(sent_, request.send_blocks);
  keep(received_, request.receive_blocks);
}

/// An algorithm of the communicator on which the calls are made.
class Nonblocking::Entered final : public AnyCollective<NativePort> {
 public:
  Entered(Nonblocking& by, std::unique_ptr<AnyCollective<NativePort>> of_call, const NativePort& blocking)
      : AnyCollective(
            [](AnyCollective& self, NativePort& port, const Call& call) { of(self).enter(port, &call); },
            of_call->bare() == nullptr ? nullptr : Bare([](AnyCollective& self, NativePort& port) {
              of(self).enter(port, nullptr);
            })),
        algorithm(std::move(of_call)),
        stays(blocking),
        by_(by) {}

  const std::unique_ptr<AnyCollective<NativePort>> algorithm;
  NativePort stays;

 private:
  static Entered& of(AnyCollective& self) { return static_cast<Entered&>(self); }
  void enter(NativePort& port, const Call* call) { by_.enter(*this, port, call); }

  Nonblocking& by_;
};

/// Keeps other threads of the rank out, which go on with this while they wait in calls on other
/// communicators. Where the rank has no other communicator there are no such threads, as a communicator takes
/// one call at a time, and the lock is spared. A call by an operator would wait for its own thread, so it is
/// refused.
class Nonblocking::Hold {
 public:
  enum Manner { wait, try_once };
  explicit Hold(Nonblocking& of, Manner manner = wait) : of_(of) {
    if (__builtin_expect(of.work_.has_several_communicators(), 0)) {
      if (!of.is_outside()) refuse_inside();
      if (!of.lock_.try_lock()) {
        if (manner == try_once) return;
        of.lock_.lock();
      }
      locked_ = true;
    } else if (__builtin_expect(of.is_held(), 0)) {
      refuse_inside();
    }
    held_ = of.held_by_call_ = true;
  }
  ~Hold() {
    if (!held_) return;
    of_.held_by_call_ = false;
    if (__builtin_expect(locked_, 0)) of_.lock_.unlock();
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  explicit operator bool() const { return held_; }
  /// Whether no other thread can come.
  bool alone() const { return !locked_; }

 private:
  Nonblocking& of_;
  bool held_ = false;
  bool locked_ = false;
};

Nonblocking::Nonblocking(Communicator& owner)
    : owner_(owner),
      work_(*owner.memory_.work),
      inner_(owner.twin(*this)),
      calls_(inner_->calls_),
      board_(inner_->board_),
      port_(inner_->control(), inner_->rank(), inner_->wait_policy(), nullptr, nullptr, &stuck_),
      fiber_(new os::Fiber([this] { run_all(); }, stack_bytes)) {
  port_.set_background(&work_);
  stuck_.note = WaitNote{WaitNote::Kind::nonblocking, -1, -1, 0};
  work_.add(*this);
}

Nonblocking::~Nonblocking() {
  if (!is_outside()) {
    // A call in progress is further up on this thread's stack, and nothing can end it.
    std::fputs("phicoll: a communicator was destroyed inside an operator of one of its own calls\n", stderr);
    std::abort();
  }
  work_.remove(*this);
  if (owner_.in_own_process())
    end_all();
  else
    fiber_.release();  // its stack is a copy of what the parent goes on with
}

std::unique_ptr<AnyCollective<NativePort>> Nonblocking::entered_here(
    std::unique_ptr<AnyCollective<NativePort>> algorithm, const WaitPolicy& wait) {
  NativePort stays(inner_->control(), inner_->rank(), wait, &inner_->calls_, &inner_->hand_over_, &stuck_);
  stays.set_background(&work_);
  return std::unique_ptr<AnyCollective<NativePort>>(new Entered(*this, std::move(algorithm), stays));
}

bool Nonblocking::ready() const {
  return look_ == nullptr || ending_ || look_(awaited_) || inner_->control().broken();
}

bool Nonblocking::go_on() {
  if (!pending() || !lock_.try_lock()) return false;
  const std::lock_guard<ThreadLock> own(lock_, std::adopt_lock);
  if (held_by_call_ || !ready()) return false;  // held by this thread, further up
  held_by_call_ = true;
  move();
  held_by_call_ = false;
  return true;
}

void Nonblocking::move() {
  in_place_ = nullptr;
  Nonblocking* const before = std::exchange(current, this);
  outer_ = std::exchange(in_operator, this);
  fiber_->resume();
  while (job_ != nullptr) {
    current = before;
    try {
      (*job_)();
    } catch (...) {
      job_error_ = std::current_exception();
    }
    job_ = nullptr;
    current = this;
    fiber_->resume();
  }
  current = before;
  in_operator = outer_;
  if (!ended_.empty()) ended_.clear();
}

/// Handles an exception that leaves a call half done, as in a blocking call.
template <class Function>
[[gnu::always_inline]] inline void Nonblocking::in_call(const BegunCall& made, const Function& function) {
  try {
    function();
  } catch (...) {
    if (made.last_use == nullptr) throw;
    inner_->collectives_->leave_half_done(calls_.begun());
  }
}

// A deque's size() takes fourteen instructions, and the queue is nearly always empty.
inline std::size_t Nonblocking::queued() const {
  return __builtin_expect(queue_.empty(), 1) ? 0 : queue_.size();
}

// When a call has begun.
[[gnu::always_inline]] inline void Nonblocking::count_unfinished(std::size_t calls) {
  unfinished_.store(calls, std::memory_order_release);
  work_.begun(*this);
}

void Nonblocking::put_aside() {
  for (std::shared_ptr<void>& memory : held_) ended_.push_back(std::move(memory));
  held_.clear();
  if (first_->kept) ended_.push_back(std::move(first_->kept));
}

/// Lets the next begin() repeat `made`, the last call, if what served it serves it again.
[[gnu::always_inline]] inline BegunCall* Nonblocking::prepare_again(BegunCall& made) {
  if (__builtin_expect(made.valid != inner_->collectives_->changes(), 0)) return nullptr;
  made.next_tag = calls_.tag_after(made.signature, made.mark);
  return &made;
}

[[gnu::always_inline]] inline void Nonblocking::note_end(BegunCall& made) {
  CallBoard::done(*noted_);
  stage_ = Stage::none;
  made.done = true;  // release: a rank that sees it done sees the result
}

[[gnu::always_inline]] inline void Nonblocking::end_first() {
  if (__builtin_expect(!held_.empty() || first_->kept, 0)) put_aside();
  const bool failed = first_->error != nullptr;  // a wait that sees the end takes the error away
  unfinished_.store(queued(), std::memory_order_release);
  note_end(*first_);
  noted_ = &unnoted_;
  // A call that is begun again need not be counted again.
  if (first_.use_count() == 1)
    first_.reset();
  else if (first_->valid != 0 && !failed && queue_.empty())
    again_ = prepare_again(*first_);
}

void Nonblocking::run_all() {
  for (;;) {
    if (stage_ != Stage::none) run_first();
    while (!queue_.empty()) {
      first_ = std::move(queue_.front());
      queue_.pop_front();
      stage_ = Stage::request;
      run_first();
    }
    fiber_->suspend();
  }
}

void Nonblocking::make(const BegunCall& made) {
  const Request& request = made.request;
  if (made.selects) return inner_->select(request.operation, *request.algorithm, nullptr);
  inner_->call(request);
}

// Runs on the other stack.
void Nonblocking::run_first() {
  BegunCall& made = *first_;
  try {
    if (ending_) inner_->control().check_broken(inner_->rank());
    if (stage_ == Stage::request) {
      make(*first_);
    } else if (stage_ == Stage::algorithm) {
      in_call(made, [&] { (*made.algorithm)(*made.leaves, made.call); });
    } else {
      stage_ = Stage::rest;
      in_call(made, [&] { made.algorithm->complete(*made.leaves, made.call); });
    }
  } catch (...) {
    fail_first();
  }
  end_first();
}

// Called in a catch block.
void Nonblocking::fail_first() {
  first_->error = std::current_exception();
  try {
    throw;
  } catch (const ArgumentError&) {
    // All ranks see the error alike, or it breaks the group.
  } catch (const RegionFullError&) {
    // Likewise.
  } catch (const std::exception& error) {
    inner_->fail(error);  // perhaps nobody waits for this one: the others must not wait for its rest
  } catch (...) {
    inner_->fail("raised something that is not an exception");
  }
}

// Called on the call's own stack.
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

// Whether this thread is in no call of this, where it would wait for itself.
bool Nonblocking::is_outside() const {
  if (!work_.has_several_communicators()) return !is_held();
  for (const Nonblocking* one = in_operator; one != nullptr; one = one->outer_)
    if (one == this) return false;
  return true;
}

// Notes a call that has begun. That comes after what peers wait for, which is early enough: it must precede
// only waits and reads of others' memory (Collectives::wait_for_readers).
[[gnu::always_inline]] inline void Nonblocking::note(const BegunCall& made) {
  noted_ = &unnoted_;
  if (made.last_use == nullptr) return;
  if (__builtin_expect(board_ != nullptr, 1))
    noted_ = &board_->note(inner_->rank_, calls_.begun(), made.signature, made.call.tag);
  in_call(made, [this] { inner_->check_whole(); });
}

// Goes on with a call whose algorithm has started.
void Nonblocking::follow(BegunCall& made, Started started) {
  note(made);
  if (started == Started::whole) return end_first();
  stage_ = started == Started::half ? Stage::half : Stage::algorithm;
  if (started == Started::no) move();
}

// Communicator::run has begun the call that the first request asked for, or barrier() has.
void Nonblocking::enter(Entered& by, NativePort& port, const Call* call) {
  if (!starts_here_) {
    if (call == nullptr) return by.algorithm->bare()(*by.algorithm, port);
    return (*by.algorithm)(port, *call);
  }
  starts_here_ = false;  // one call
  BegunCall& made = *first_;
  made.algorithm = by.algorithm.get();
  made.leaves = &port;
  made.stays = &by.stays;
  made.last_use = nullptr;
  if (call != nullptr) {
    made.call = *call;
    const CallHistory::Last last = calls_.last();
    made.signature = last.signature;
    made.mark = last.mark;
    made.last_use = &inner_->collectives().instance_of(by).last_use;
    made.keep_blocks(inner_->size());
  }
  made.valid = held_.empty() ? inner_->collectives().changes() : 0;  // what is held is this call's alone
  follow(made, made.algorithm->start(*made.stays, made.call));
}

// The frames that made the call, where its blocks may be, are gone when it goes on.
void BegunCall::keep_blocks(int ranks) {
  if (call.blocks != nullptr) call.blocks = blocks_.keep(*call.blocks, ranks);
  if (call.send_blocks != nullptr) call.send_blocks = send_blocks_.keep(*call.send_blocks, ranks);
}

[[gnu::always_inline]] inline Started Nonblocking::start_again(BegunCall& made) {
  made.call.tag = made.next_tag;
  return made.algorithm->start(*made.stays, made.call);
}

[[gnu::always_inline]] inline void Nonblocking::count_again(const BegunCall& made) {
  if (made.last_use == nullptr)
    calls_.begin();
  else
    *made.last_use = calls_.begin(made.signature, made.mark);
}

// The call is noted by note(), and until it has ended.
void Nonblocking::make_here(BegunCall& made) {
  inner_->board_ = nullptr;
  starts_here_ = true;
  const auto put_back = [this] {
    starts_here_ = false;
    inner_->board_ = board_;
  };
  try {
    make(made);
  } catch (...) {
    put_back();
    throw;
  }
  put_back();
}

/// Begins the first call by function(). Returns whether it could be begun without waiting.
template <class Function>
[[gnu::always_inline]] inline bool Nonblocking::begin_by(const Function& function) {
  try {
    function();
    return true;
  } catch (const NotYet&) {
    stage_ = Stage::request;
    return false;
  } catch (...) {
    fail_first();
    end_first();
    return true;
  }
}

void Nonblocking::begin_here(const Shared& call) {
  if (first_ != call) first_ = call;
  count_unfinished(1);
  BegunCall& made = *call;
  const bool known = made.valid != 0 && made.valid == inner_->collectives_->changes();
  const auto make_again = [&] {
    made.next_tag = calls_.tag_after(made.signature, made.mark);
    const Started started = start_again(made);
    count_again(made);
    follow(made, started);
  };
  if (!begin_by([&] { known ? make_again() : make_here(made); })) move();
}

void Nonblocking::put_in_queue(const Shared& call) {
  queue_.push_back(call);
  count_unfinished(queue_.size() + (stage_ != Stage::none ? 1 : 0));
  if (ready()) move();
}

// Peers wait for this rank's first store, so a call that is repeated takes the shortest way there; all that
// can wait comes between its stores and its first look. `again_`, if any, is first_.
void Nonblocking::begin(const Shared& call) {
  BegunCall* const one = call.get();
  if (__builtin_expect(work_.takes_care() || one != again_, 0)) return begin_anew(call);
  arch::prefetch_line_to_write(one->algorithm->first_line());
  follow_again(*one, start_again(*one));
}

void Nonblocking::follow_again(BegunCall& made, Started started) {
  again_ = nullptr;
  try {
    count_again(made);
    note(made);
    if (__builtin_expect(started == Started::half, 1)) {
      stage_ = Stage::half;
      made.done = false;
      count_unfinished(1);
      in_place_ = &made;
      return;
    }
    if (started == Started::whole) return end_begun(made);
  } catch (...) {
    return fail_begun(made);
  }
  begin_elsewhere(made);
}

[[gnu::always_inline]] inline void Nonblocking::end_begun(BegunCall& made) {
  if (__builtin_expect(made.kept != nullptr, 0)) {
    end_first();
    return ended_.clear();
  }
  CallBoard::done(*noted_);
  again_ = prepare_again(made);
}

// Called in a catch block.
void Nonblocking::fail_begun(BegunCall& made) {
  fail_first();
  end_first();
  rethrow(made);
}

void Nonblocking::begin_elsewhere(BegunCall& made) {
  made.done = false;
  count_unfinished(1);
  stage_ = Stage::algorithm;
  held_by_call_ = true;
  move();
  held_by_call_ = false;
  if (made.error && made.done) rethrow(made);
}

void Nonblocking::rethrow(BegunCall& made) {
  std::rethrow_exception(std::exchange(made.error, nullptr));
}

void Nonblocking::begin_anew(const Shared& call) {
  work_.stop_looking();
  std::vector<std::shared_ptr<void>> ended;  // let go of when others may come in again
  {
    const Hold own(*this);
    if (__builtin_expect(!call->done, 0)) refuse_active();
    again_ = in_place_ = nullptr;
    call->done = false;
    if (call->error) call->error = nullptr;
    if (!call->selects && !pending()) {
      begin_here(call);
    } else {
      put_in_queue(call);
    }
    ended.swap(ended_);
  }
  if (call->done && call->error) rethrow(*call);  // until it is done, another thread may go on with it
}

// Meanwhile nothing of it is pending, so waits sleep instead of going on with it.
[[gnu::always_inline]] inline void Nonblocking::complete(BegunCall& made) {
  stage_ = Stage::completing;
  in_call(made, [&] { made.algorithm->complete(*made.stays, made.call); });
}

// Does as little as possible after the last look, as begin() does before the first store.
[[gnu::always_inline]] inline void Nonblocking::complete_in_place(BegunCall& made) {
  unfinished_.store(0, std::memory_order_release);
  stuck_.note.call = calls_.begun();
  BegunCall* const again = prepare_again(made);
  try {
    complete(made);
  } catch (...) {
    fail_first();
    note_end(made);
    rethrow(made);
  }
  again_ = again;
  note_end(made);
}

void Nonblocking::complete_here(bool alone) {
  if (!alone) outer_ = std::exchange(in_operator, this);
  unfinished_.store(queued(), std::memory_order_release);
  try {
    complete(*first_);
  } catch (...) {
    fail_first();
  }
  if (!alone) in_operator = outer_;
  end_first();
  if (!queue_.empty()) return move();
  if (!ended_.empty()) ended_.clear();
}

// A call that begin() repeated, and that nothing has looked at or kept memory for since, has no other behind
// it. Several communicators come first: a thread of one of them may be changing the rest, while the thread of
// a single one has it for itself.
void Nonblocking::wait(BegunCall& made) {
  if (!made.done) {
    if (__builtin_expect(!work_.takes_care() && in_place_ == &made && stage_ == Stage::half && !made.kept, 1))
      return complete_in_place(made);
    wait_in_turn(made);
  }
  if (made.error) rethrow(made);
}

void Nonblocking::wait_in_turn(BegunCall& made) {
  work_.stop_looking();
  if (const Hold own{*this, Hold::try_once}) {
    stuck_.note.call = calls_.begun();
    if (stage_ == Stage::half && first_.get() == &made)
      complete_here(own.alone());
    else
      look_in_place(made);
  }
  if (made.done) return;
  NativePort::Patience patience;
  try {
    while (!made.done) {
      port_.take_turn(patience);
      if (patience.has_checked()) check_peers(patience);
    }
  } catch (...) {
    // A group that waited too long is broken too. The calls' buffers are the caller's again.
    if (inner_->control().broken()) end_all();
    throw;
  }
}

// Keeps other threads out, as what they go on with adds to the calls. What a peer did before it left is seen
// by the look here, if it was not by the turn's.
void Nonblocking::check_peers(NativePort::Patience& patience) {
  const Hold own(*this, Hold::try_once);
  if (!own || ready()) return;
  stuck_.note.call = calls_.begun();
  port_.check_peers(patience, calls_);
}

void Nonblocking::look_in_place(const BegunCall& made) {
  for (unsigned left = port_.looks_in_place(); left != 0 && !made.done; --left)
    ready() ? move() : arch::look_gap();
}

Nonblocking::Shared Nonblocking::last() {
  const Hold own(*this);
  if (!queue_.empty()) return queue_.back();
  return stage_ != Stage::none ? first_ : nullptr;
}

void Nonblocking::wait_for_all() {
  while (const Shared last = this->last()) wait(*last);
}

void Nonblocking::select(Operation operation, const AlgorithmSpec& spec) {
  Request selection;
  selection.operation = operation;
  selection.algorithm = &spec;
  const auto request = owner_.prepare(selection);
  request->selects = true;
  begin(request);
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
