#include "phicoll/memory/native_port.hpp"

#include <sched.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "phicoll/errors.hpp"
#include "phicoll/memory/copy_desk.hpp"
#include "phicoll/memory/own_threads.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/futex.hpp"
#include "phicoll/os/membarrier.hpp"
#include "phicoll/os/nap.hpp"

namespace phicoll {

namespace {

std::atomic<InterruptHook> interrupt_hook{nullptr};
std::atomic<WaitHook> wait_hook{nullptr};
std::atomic<RootHook> root_hook{nullptr};
std::atomic<ThreadsHook> threads_hook{nullptr};

// Looks between two checks whether the group is broken: some microseconds of spinning.
constexpr unsigned turns_a_check = 4096;
// The adaptive policy. Bare looks come first (an answer that is on its way takes one line transfer), then
// polite ones: many where the rank has its CPU to itself, few where other ranks wait for the CPU.
constexpr unsigned polite_looks_alone = 8192;
constexpr unsigned polite_looks_sharing = 256;
// Fewer where those ranks may have what this one waits for (Meanwhile::as_much): 8 ranks on 2 CPUs then scatter 8 B and 4 KB
// in 0.8 and 0.9 of the time, and 32 to 128 KB between far CPUs in 0.8. If it were 64, a scatter of 8 B from a common start
// would take up to 1.8.
constexpr unsigned polite_looks_let_run = 128;
// Then it gives the CPU away for this long before it sleeps: a sleep and a wake cost some microseconds.
constexpr std::int64_t yielding_ns = 300 * 1000;
// A rank that roams rests once it has yielded for so long: others that roam look before they yield. Messages of 32 KB between
// two of four processes on 2 CPUs, while the others wait in a barrier, then take 0.7 of the time. No rank of 8 on 2 CPUs
// counts: when they did, after 50 us, broadcasts of 256 KB took 1.05 to 1.3 of the time.
constexpr std::int64_t resting_ns = 200 * 1000;
constexpr unsigned yields_a_check = 16;
// A rank that roams sees whether it had better move at every 16th wait. It moves when it had better four times in a row; if it
// moved in the last second, 8, 16, 32, then 64 times, as the system may have put it there because of other programs.
constexpr unsigned waits_a_look_around = 16, times_before_a_move = 4, most_doublings = 4;
// A rank that yields to one on its CPU looks in place again, for some microseconds, at every 64th wait.
constexpr unsigned waits_a_look_in_place = 64;
constexpr std::int64_t settled_ns = 1000 * 1000 * 1000;
// A wait for any of several words cannot sleep on one. After this time it naps at every turn (os::nap_of_wait).
constexpr std::int64_t yielding_turns_ns = 2 * 1000 * 1000;
// A rank that has waited this long takes in what others have sent to it.
constexpr std::int64_t taking_in_ns = 5 * 1000 * 1000;
// The longest sleep: the fallback where membarrier is missing, and the latest moment at which a sleeper sees
// a broken group.
constexpr std::int64_t longest_sleep_ns = 10 * 1000 * 1000;
// A rank that has waited this long checks whether the others make the same calls, and again after each such
// interval.
constexpr std::int64_t compare_calls_ns = 30 * 1000 * 1000;
// How long others wait for a rank that left by an exception to break the group with its reason. Its program
// may catch the exception instead.
constexpr std::int64_t exception_ns = 200 * 1000 * 1000;
// How long a wait must last before it asks whether another thread may end it. Shorter than StuckSearch's patience.
constexpr std::int64_t threads_counted_ns = 100 * 1000 * 1000;

/// Looks `turns` times, with `pauses` polite turns after each. Instantiated per width and kind, so that each
/// loop is as tight as one written by hand.
template <class T, ConditionKind kind>
bool look_for(const void* place, T value, T mask, unsigned turns, unsigned pauses, std::uint64_t& seen) {
  const Condition<T> condition{kind, value, mask};
  const std::atomic<T>& word = static_cast<const Word<T>*>(place)->atomic();
  for (unsigned turn = 0; turn < turns; ++turn) {
    const T now = word.load(std::memory_order_acquire);
    if (condition(now)) {
      seen = now;
      return true;
    }
    arch::look_gap();
    for (unsigned p = 0; p < pauses; ++p) arch::pause();
  }
  return false;
}

template <class T>
bool look_for(const void* place, std::uint64_t value, std::uint64_t mask, ConditionKind kind, unsigned turns,
              unsigned pauses, std::uint64_t& seen) {
  const T v = static_cast<T>(value);
  const T m = static_cast<T>(mask);
  switch (kind) {
    case ConditionKind::at_least:
      return look_for<T, ConditionKind::at_least>(place, v, m, turns, pauses, seen);
    case ConditionKind::equal:
      return look_for<T, ConditionKind::equal>(place, v, m, turns, pauses, seen);
    case ConditionKind::not_equal:
      return look_for<T, ConditionKind::not_equal>(place, v, m, turns, pauses, seen);
    case ConditionKind::masked_equal:
      return look_for<T, ConditionKind::masked_equal>(place, v, m, turns, pauses, seen);
  }
  return false;
}

}  // namespace

void tell_of_a_wait() {
  if (const WaitHook hook = wait_hook.load(std::memory_order_acquire)) hook();
}

void set_threads_hook(ThreadsHook hook) {
  threads_hook.store(hook, std::memory_order_release);
}

// If ranks are threads, two more threads wait for them: the group's creator and the main thread.
bool has_further_threads(const Control& group) {
  const ThreadsHook hook = threads_hook.load(std::memory_order_acquire);
  if (hook == nullptr) return false;
  if (group.shared() || group.ranks() == 1) return hook() > 1;
  int present = 2;
  for (int rank = 0; rank < group.ranks(); ++rank) present += group.has_left(rank) ? 0 : 1;
  return hook() > present;
}

bool has_interpreter() {
  return threads_hook.load(std::memory_order_acquire) != nullptr;
}

void set_interrupt_hook(InterruptHook hook) {
  interrupt_hook.store(hook, std::memory_order_release);
}

void set_wait_hook(WaitHook hook) {
  wait_hook.store(hook, std::memory_order_release);
}

void set_root_hook(RootHook hook) {
  root_hook.store(hook, std::memory_order_release);
}

std::int64_t NativePort::now() const {
  return os::now_ns();
}

void NativePort::wait_until(std::int64_t ticks) const {
  constexpr unsigned turns_a_look = 1024;
  Patience patience;
  for (unsigned turn = 1; this->ticks() < ticks; ++turn) {
    if (sharing_ || roams()) sched_yield();
    if (turn % turns_a_look == 0) check_alive(patience, false);
  }
}

RootOfCall NativePort::root_before() const {
  // A nonblocking call advances only when its rank calls in, so no other rank may wait for it to act.
  if (elsewhere_ != nullptr) return RootOfCall();
  const RootHook hook = root_hook.load(std::memory_order_acquire);
  const SignatureWord before = hook != nullptr && calls_ != nullptr ? calls_->before_barrier() : 0;
  return before != 0 ? hook(before) : RootOfCall();
}

void NativePort::take_turn(Patience& patience) const {
  if (background_ != nullptr && background_->pending() && background_->go_on()) return patience.end_mark();
  const std::uint64_t turn = ++patience.turns_;
  const bool alone = !sharing_ && !control_->crowded();
  if (!sharing_ && !roams()) {
    if (turn == (patience.meets_ ? 1 : bare_looks)) {
      tell_of_a_wait();
      patience.meets_ = meets(any_rank);
    }
    if (turn < (patience.meets_ ? 1 : alone ? polite_looks_alone : bare_looks)) return arch::pause();
  } else if (turn == 1) {
    tell_of_a_wait();
  }
  if (patience.naps_ || turn % yields_a_check == 0) {
    check_alive(patience, true);
    const std::int64_t waited = os::now_ns() - patience.started_ns_;
    if (waited > yielding_turns_ns) {
      patience.naps_ = true;
      return os::nap(os::nap_of_wait(waited));
    }
  }
  sched_yield();
}

bool NativePort::look_turns(const Awaited& a, std::uint64_t& seen, unsigned turns, unsigned pauses) {
  if (a.manner.whole_line) {
    for (unsigned turn = 0; turn < turns; ++turn) {
      if (line_holds(*static_cast<const ByteLine*>(a.place), a.mask, static_cast<std::uint8_t>(a.value)))
        return true;
      for (unsigned p = 0; p < pauses; ++p) arch::pause();
    }
    return false;
  }
  switch (a.manner.bytes) {
    case 1:
      return look_for<std::uint8_t>(a.place, a.value, a.mask, a.manner.kind, turns, pauses, seen);
    case 2:
      return look_for<std::uint16_t>(a.place, a.value, a.mask, a.manner.kind, turns, pauses, seen);
    case 4:
      return look_for<std::uint32_t>(a.place, a.value, a.mask, a.manner.kind, turns, pauses, seen);
    default:
      return look_for<std::uint64_t>(a.place, a.value, a.mask, a.manner.kind, turns, pauses, seen);
  }
}

bool NativePort::look(const Awaited& a, std::uint64_t& seen) {
  return look_turns(a, seen, 1, 0);
}

bool NativePort::look_yielding(const Awaited& a, std::uint64_t& seen, unsigned turns) const {
  for (unsigned turn = 0; turn < turns; ++turn) {
    sched_yield();
    if (look(a, seen)) return true;
    // A yield takes no time, or a time slice of each program that computes on this CPU.
    if (control_->broken()) return false;
  }
  return false;
}

// A rank on the same CPU is helped only by that CPU itself: spinning for it cost ten times the barrier (8
// ranks on 2 CPUs). Where ranks roam over too few CPUs, the awaited rank most likely has none, and every look
// before the yield keeps it waiting. 16 threads on 2 CPUs took 250 us per barrier with the looks of a rank
// that has its CPU to itself, 50 to 100 with 16 looks, and 26 with none. But where the others rest, it has one.
inline bool NativePort::awaited_needs_this_cpu(const Awaited& a) const {
  return roams() || (a.manner.from == any_rank ? sharing_ : control_->same_cpu(a.manner.from, rank_));
}

void NativePort::note_cpu() const {
  control_->note_cpu(rank_, os::current_cpu());
}

// The kernel may leave three of four ranks, or both that are awake, on one of two CPUs for seconds, as no CPU has been idle for long.
// An alltoall of 64 KB then takes 1.3 to 1.6 of the time, a barrier 1.4.
void NativePort::spread_out() const {
  note_cpu();
  if (++roaming_waits_ % waits_a_look_around != 0) return;
  try {
    const std::vector<int> emptier = control_->emptier_cpus(rank_);
    crowds_ = emptier.empty() ? 0 : crowds_ + 1;
    if (crowds_ < times_before_a_move << std::min(moves_, most_doublings)) return;
    crowds_ = 0;
    const std::int64_t now = os::now_ns();
    moves_ = now - moved_ns_ < settled_ns ? moves_ + 1 : 1;
    moved_ns_ = now;
    os::move_to_cpus(emptier);
  } catch (const std::bad_alloc&) {
    return;  // it waits where it is
  }
  note_cpu();
}

// The kernel puts ranks that are not pinned on one CPU where another program keeps the other busy, and leaves them there for
// long, as each wakes the other. Looks would then last as long as some ten yields, polite ones as some hundred: a barrier of two
// processes took 5 us there, and 0.7 in an MPI that yields at once. So later waits do not look in place.
bool NativePort::meets(int from) const {
  const bool here = control_->cpu(rank_) < 0 && control_->meets(rank_, from, os::current_cpu());
  if (here && looks_in_place_ != 0 && wait_.kind == WaitPolicy::Kind::adaptive) {
    waits_met_ = 1;
    looks_in_place_ = 0;
  }
  return here;
}

/// Whether the rank `from` is still on this CPU after an earlier wait has met one here. A note may be old: its rank moved, and has
/// not waited for long since. So every 64th wait looks again, and finds an answer only where that rank has another CPU.
bool NativePort::met_before(int from) const {
  if (waits_met_ == 0) return false;
  const bool again = ++waits_met_ % waits_a_look_in_place == 0;
  if (!again && meets(from)) return true;
  if (again || from == any_rank || !meets(any_rank)) {
    waits_met_ = 0;
    looks_in_place_ = in_place(wait_, false);
  }
  return false;
}

bool NativePort::look_before_yields(const Awaited& a, std::uint64_t& seen) const {
  if (awaited_needs_this_cpu(a)) return false;
  if (look_turns(a, seen, bare_looks, 0)) return true;
  tell_of_a_wait();
  const bool polite_only = !sharing_ && !control_->crowded();
  const unsigned turns = polite_only                                ? polite_looks_alone
                         : a.manner.meanwhile == Meanwhile::as_much ? polite_looks_let_run
                                                                    : polite_looks_sharing;
  return !meets(a.manner.from) && look_turns(a, seen, turns, 1);
}

bool NativePort::spin_then_yield(const Awaited& a, std::uint64_t& seen, Rest& rest) const {
  if (look_before_yields(a, seen)) return true;
  const std::int64_t start = os::now_ns();
  for (;;) {
    if (look_yielding(a, seen, yields_a_check)) return true;
    const std::int64_t waited = os::now_ns() - start;
    if (roaming_ && waited >= resting_ns && control_->counts_resting()) rest.begin();
    if (waited >= yielding_ns || control_->broken()) return false;
  }
}

// Sleeps until a signal, without losing a wake. A sleeper
//
// 1. marks itself (parked, add_sleeper) and reads `sequence`,
// 2. runs a membarrier,
// 3. looks at the flag a last time,
// 4. calls futex_wait, which compares `sequence` with the value read before the last look.
//
// Either the signaller's store is visible to that last look, or the signaller had not yet executed its look
// at the marks when the barrier ran on its CPU. In the second case it will see the marks, bump `sequence` and
// wake, so no wake is lost. Where membarrier is missing a wake can be lost; the bound on the sleep ends it.
bool NativePort::sleep_once(const Awaited& a, std::uint64_t& seen) const {
  const std::uint64_t line = control_->line_of(a.place);
  ParkingSlot& slot = control_->slot_of(line);
  control_->parked().atomic().fetch_add(
      1, std::memory_order_seq_cst);  // seq_cst: ordered before the look on every CPU
  slot.add_sleeper(line);
  const std::uint32_t sequence = slot.sequence.atomic().load(std::memory_order_acquire);
  if (!os::membarrier_all(control_->shared())) arch::full_fence();
  bool holds = look(a, seen);
  if (!holds && !control_->broken()) {
    if (roaming_) control_->note_asleep(rank_);
    os::futex_wait(&slot.sequence.atomic(), sequence, longest_sleep_ns, control_->shared());
    if (roaming_) note_cpu();
    holds = look(a, seen);
  }
  slot.remove_sleeper();
  control_->parked().atomic().fetch_sub(1, std::memory_order_release);
  return holds;
}

void NativePort::wake_slow(const void* place) const {
  const std::uint64_t line = control_->line_of(place);
  ParkingSlot& slot = control_->slot_of(line);
  if (!slot.has_sleeper(line)) return;
  slot.sequence.atomic().fetch_add(1, std::memory_order_acq_rel);
  os::futex_wake(&slot.sequence.atomic(), max_ranks, control_->shared());
}

bool NativePort::check_alive(Patience& patience, bool in_call) const {
  const std::int64_t now = os::now_ns();
  if (patience.started_ns_ == 0) patience.started_ns_ = patience.compared_ns_ = now;
  if (calls_ != nullptr) {
    const bool long_ago = now - patience.started_ns_ > exception_ns;
    control_->check_left(calls_->begun(), long_ago);
    // The others' stores came before they left, so a look after seeing that they left sees everything there will ever
    // be.
    if (patience.alone_) {
      // Breaks the group with the calls' names, if they are still known. The first reason stays.
      control_->check_calls(rank_, *calls_, true);
      const std::string reason = "waits in call " + std::to_string(calls_->begun()) +
                                 " for ranks that have left: their calls did not fit";
      control_->break_group(rank_, reason.c_str());
    }
    patience.alone_ = in_call && long_ago && control_->others_have_left();
    // Reading what the others note takes their lines from them, so a rank does it only after a long wait, and
    // seldom. It first notes a barrier, so that ranks which wait in the same barrier are counted as many when
    // calls are compared.
    if (in_call && now - patience.compared_ns_ > compare_calls_ns) {
      control_->check_calls(rank_, *calls_, patience.compared_ns_ != patience.started_ns_);
      patience.compared_ns_ = now;
    }
  }
  const std::int64_t waited = now - patience.started_ns_;
  // What moves proves that the group is not stuck.
  const bool took = in_call && background_ != nullptr && waited > taking_in_ns && background_->take_in();
  if (took) patience.end_mark();
  // Last, and only in a long wait: counting threads takes the interpreter's lock.
  const auto others_may_end_it = [this] {
    return background_ != nullptr && background_->has_several_communicators() &&
           has_further_threads(control_->root());
  };
  if (in_call && (waited < threads_counted_ns || others_may_end_it())) {
    patience.end_mark();
  } else if (in_call) {
    if (patience.mark_ == nullptr) {
      patience.mark_ = &control_->root().wait_mark(control_->root_rank(rank_));
      patience.mark_->end();  // that of looks before, or of a wait whose operator makes this one
    }
    WaitNote note;
    static const WaitedRequests none;
    if (stuck_ != nullptr) {
      note = stuck_->note;
      note.peer = control_->root_rank(note.peer);
    } else if (calls_ != nullptr) {
      note.call = calls_->begun();
    }
    patience.mark_->look(note, stuck_ != nullptr ? stuck_->requests : none);
    if (stuck_ != nullptr) stuck_->check(*control_, rank_, waited);
  }
  control_->check_broken(rank_);
  if (InterruptHook hook = interrupt_hook.load(std::memory_order_acquire)) hook();
  const std::int64_t limit = control_->timeout_ns();
  if (limit <= 0 || waited <= limit) return took;
  const std::string reason =
      "waited longer than the group's timeout of " + std::to_string(limit / 1000000) + " ms";
  control_->break_group(rank_, reason.c_str(), true);
  control_->check_broken(rank_);
  return took;
}

// The other rank may wait for something that this one has begun, such as a large send, so a rank with such work does
// not sleep.
std::uint64_t NativePort::wait_going_on(const Awaited& a) const {
  std::uint64_t seen = 0;
  // A rank that shares its CPU, but waits for one on another CPU, would only yield to ranks that wait too: a barrier of 4 ranks
  // on 2 CPUs took 4.4 us, and takes 2.2. Ranks that share no CPU have already looked before they come here.
  if (sharing_ && look_before_yields(a, seen)) return seen;
  Patience patience;
  // Turns take some ten times as long as looks: those before the first yield would last 50 us a wait.
  patience.meets_ =
      !sharing_ && !roaming_ && (waits_met_ != 0 ? met_before(a.manner.from) : meets(a.manner.from));
  while (!look(a, seen)) take_turn(patience);
  return seen;
}

std::uint64_t NativePort::wait_elsewhere(const Awaited& a) const {
  std::uint64_t seen = 0;
  while (!look(a, seen)) {
    elsewhere_->wait(
        [](const void* awaited) {
          std::uint64_t ignored = 0;
          return look(*static_cast<const Awaited*>(awaited), ignored);
        },
        &a);
    control_->check_broken(rank_);
  }
  return seen;
}

std::uint64_t NativePort::wait_slow(const Awaited& a) const {
  if (roaming_) spread_out();
  if (elsewhere_ != nullptr) return wait_elsewhere(a);
  if (background_ != nullptr && background_->pending()) return wait_going_on(a);
  std::uint64_t seen = 0;
  Patience patience;
  Rest rest(*control_);
  if (wait_.kind == WaitPolicy::Kind::adaptive) {
    // Where ranks share a CPU, most waits end within a few yields: here, without a clock and with the fewest calls.
    if (awaited_needs_this_cpu(a) || met_before(a.manner.from)) {
      tell_of_a_wait();
      for (unsigned turn = 0; turn < yields_a_check; ++turn) {
        sched_yield();
        if (look(a, seen)) return seen;
      }
    }
    if (spin_then_yield(a, seen, rest)) return seen;
  } else {
    tell_of_a_wait();
  }
  for (;;) {
    const bool took = check_alive(patience, true);
    // It may have begun while this rank waited: what was taken in has further pieces, or another thread has sent something.
    if (background_ != nullptr && background_->pending()) return wait_going_on(a);
    bool holds = false;
    switch (wait_.kind) {
      case WaitPolicy::Kind::spin:
        holds = look_turns(a, seen, turns_a_check, 0);
        break;
      case WaitPolicy::Kind::pause:
        holds = look_turns(a, seen, turns_a_check / (wait_.pauses + 1) + 1, wait_.pauses);
        break;
      case WaitPolicy::Kind::yield:
        holds = look_yielding(a, seen, 64);
        break;
      case WaitPolicy::Kind::adaptive:
        // Whoever found room sends more.
        holds = took ? look_yielding(a, seen, yields_a_check) : sleep_once(a, seen);
        break;
    }
    if (holds) return seen;
  }
}

void NativePort::cross_copy(Data own, const Exposed& peer, std::size_t offset, std::size_t bytes,
                            bool write) const {
  const int owner = static_cast<int>(peer.owner) - 1;
  const auto address = static_cast<std::uintptr_t>(peer.address) + offset;
  Patience patience;
  const int error = copy_between_processes(*control_, owner, own.at, address, bytes, write,
                                           [&] { check_alive(patience, false); });
  if (error == 0) return;
  // A rank that died reports it itself, through its watcher.
  const std::string reason = std::string("its memory could not be ") + (write ? "written" : "read") +
                             " by rank " + std::to_string(rank_) + ": " + std::strerror(error);
  control_->break_group(owner, reason.c_str());
  control_->check_broken(rank_);
}

void NativePort::differ(int from, const std::string& sent, const std::string& expected) const {
  const CallBoard* const board = control_->board();
  const std::uint64_t call = board != nullptr ? board->inside(rank_) : 0;
  const std::string reason = "sends " + sent + " to rank " + std::to_string(control_->root_rank(rank_)) +
                             ", which expects " + expected + " of it" +
                             (call != 0 ? " in call " + std::to_string(call) : "");
  control_->break_group(from, reason.c_str());
  control_->check_broken(rank_);
  throw Error(reason);  // never: the group is broken
}

void NativePort::load_line(const void* line, void* destination) const {
  const auto* from = static_cast<const Word<std::uint64_t>*>(line);
  auto* to = static_cast<unsigned char*>(destination);
  for (unsigned i = 0; i < arch::line_bytes / 8; ++i) {
    const std::uint64_t part = from[i].atomic().load(std::memory_order_acquire);
    __builtin_memcpy(to + 8 * i, &part, 8);
  }
}

void NativePort::store_line(void* line, const void* source, StorePolicy policy) const {
  switch (policy) {
    case StorePolicy::plain:
      arch::store_line_plain(line, source);
      break;
    case StorePolicy::no_read:
      arch::store_line_no_read(line, source);
      break;
    case StorePolicy::no_read_unordered:
      // The line may be a flag: everything stored before it, by ordinary stores too, must be visible first.
      arch::order_no_read_stores();
      arch::store_line_no_read_unordered(line, source);
      arch::order_no_read_stores();
      break;
  }
}

}  // namespace phicoll
