#include "phicoll/waiting/waiting_room.hpp"
#include "phicoll/support/assert.hpp"

#include <sched.h>

#include <string>

#include "phicoll/arch/arch.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/nap.hpp"
#include "phicoll/waiting/dear_yields.hpp"

namespace phicoll {

namespace {

// Looks between two checks whether the group is broken: some microseconds of spinning.
constexpr unsigned turns_a_check = 4096;
// The adaptive policy. Bare looks come first (an answer that is on its way takes one line transfer), then
// polite ones: many where the rank has its CPU to itself, few where other ranks wait for the CPU.
constexpr unsigned bare_looks = 512;
constexpr unsigned polite_looks_alone = 8192;
constexpr unsigned polite_looks_sharing = 256;
// Fewer where those ranks may have what this one waits for (Meanwhile::as_much): that speeds up scatters
// among ranks that share CPUs. Still fewer would slow small ones from a common start.
constexpr unsigned polite_looks_let_run = 128;
// Then it gives the CPU away for this long before it sleeps: a sleep and a wake cost some microseconds.
constexpr std::int64_t yielding_ns = 300 * 1000;
// A rank that roams rests once it has yielded for this long. Then others that roam look before they yield,
// which speeds up messages between two ranks while the rest wait in a barrier. If ranks rested sooner, those
// of large broadcasts on few CPUs would count as resting, and slow them down.
constexpr std::int64_t resting_ns = 200 * 1000;
constexpr unsigned yields_a_check = 16;
// A wait for any of several words cannot sleep on one. After this time it naps at every turn
// (os::nap_of_wait).
constexpr std::int64_t yielding_turns_ns = 2 * 1000 * 1000;
// While other work of the rank moves on, a rank with its own CPU does not nap; one that shares its CPU takes
// short naps, for a while, as more of it may come.
constexpr unsigned naps_after_a_move = 16;
// Another library, which the rank lets go on, does not say whether anything moved. A look that moves pieces
// takes more than moving_ns of CPU time. One in vain takes some 2 us, but up to 30 after a nap, with cold
// caches, and some make a system call. So after a nap two further looks must each take more than moving_ns;
// by then the other rank has taken the pieces of the look before.
constexpr std::int64_t further_look_ns = 25 * 1000, moving_ns = 5 * 1000;
constexpr int further_looks = 2;
// A rank that has waited this long takes in what others have sent to it.
constexpr std::int64_t taking_in_ns = 5 * 1000 * 1000;
// A rank that has waited this long checks whether the others make the same calls, and again after each such
// interval.
constexpr std::int64_t compare_calls_ns = 30 * 1000 * 1000;
// How long others wait for a rank that left by an exception to break the group with its reason. Its program
// may catch the exception instead.
constexpr std::int64_t exception_ns = 200 * 1000 * 1000;
// How long a wait must last before it asks whether another thread may end it. Shorter than StuckSearch's
// patience.
constexpr std::int64_t threads_counted_ns = 100 * 1000 * 1000;

// Of this rank, in all its groups. A look at the clock takes a tenth of a yield.
thread_local DearYields dear_yields{8};

DearYields::Way way_of_yields(bool first) {
  return dear_yields.way(dear_yields.needs_time() ? os::now_ns() : 0, first);
}

/// Yields once. Returns whether yields are dear.
bool yield(DearYields::Way way) {
  if (!dear_yields.notes(way)) {
    sched_yield();
    return false;
  }
  const std::int64_t began = os::now_ns();
  sched_yield();
  return dear_yields.note(way, began, os::now_ns());
}

/// Looks after each of so many yields, or until they show to be dear.
bool look_in_yields(const Control& control, const Awaited& a, std::uint64_t* seen, unsigned turns,
                    DearYields::Way way) {
  for (unsigned turn = 0; turn < turns; ++turn) {
    const bool dear = yield(way);
    if (a.look(1, 0, seen)) return true;
    if (dear || control.broken()) return false;
  }
  return false;
}

/// Whether a rank's other work seems to move on, after a look that took `took_ns` of CPU time. `rested`:
/// whether that look came after a nap. `moved`: whether a further look moved it.
bool seems_to_move(Background& work, std::int64_t took_ns, bool rested, bool& moved) {
  for (int looks = rested ? further_looks : 0; looks > 0 && !moved; --looks) {
    const std::int64_t end = os::now_ns() + further_look_ns;
    while (os::now_ns() < end) arch::pause();
    const std::int64_t before = os::thread_cpu_ns();
    moved = work.go_on();
    took_ns = os::thread_cpu_ns() - before;
    if (took_ns <= moving_ns) break;
  }
  return moved || took_ns > moving_ns;
}

}  // namespace

// If ranks are threads, two more threads wait for them: the group's creator and the main thread.
bool has_further_threads(const Control& group, Interpreter* interpreter) {
  if (interpreter == nullptr) return false;
  if (group.shared() || group.ranks() == 1) return interpreter->threads() > 1;
  int present = 2;
  for (int rank = 0; rank < group.ranks(); ++rank) present += group.has_left(rank) ? 0 : 1;
  return interpreter->threads() > present;
}

class WaitingRoom::Rest {
 public:
  explicit Rest(Control& control) : control_(control) {}
  ~Rest() {
    if (begun_) control_.resting().atomic().fetch_sub(1, std::memory_order_relaxed);
  }
  Rest(const Rest&) = delete;
  Rest& operator=(const Rest&) = delete;
  void begin() {
    if (!begun_) control_.resting().atomic().fetch_add(1, std::memory_order_relaxed);
    begun_ = true;
  }

 private:
  Control& control_;
  bool begun_ = false;
};

void WaitingRoom::yield_if_needed() {
  if (roaming_.shares_cpu() || roaming_.roams_now()) sched_yield();
}

void WaitingRoom::take_turn(Patience& patience) {
  bool moves = false;
  if (background_ != nullptr && background_->pending()) {
    const std::int64_t before = patience.naps_ ? os::thread_cpu_ns() : 0;
    bool moved = background_->go_on();
    if (!moved && patience.naps_) {
      const bool rested = patience.short_naps_ != naps_after_a_move;  // it did not move a turn ago
      moves = seems_to_move(*background_, os::thread_cpu_ns() - before, rested, moved);
    }
    moves = moves || moved;
    if (moves) patience.short_naps_ = naps_after_a_move;
    if (moved) return patience.end_mark();
  }
  const std::uint64_t turn = ++patience.turns_;
  const bool alone = !roaming_.shares_cpu() && !control_->crowded();
  if (!roaming_.shares_cpu() && !roaming_.roams_now()) {
    if (turn == (patience.meets_ ? 1 : bare_looks)) {
      tell_of_a_wait();
      patience.meets_ = roaming_.meets(any_rank);
    }
    if (turn < (patience.meets_ ? 1 : alone ? polite_looks_alone : bare_looks)) return arch::pause();
  } else if (turn == 1) {
    tell_of_a_wait();
  }
  if (patience.naps_ || turn % yields_a_check == 0) {
    if (check_alive(patience, true)) patience.short_naps_ = naps_after_a_move;
    const std::int64_t waited = patience.now_ns_ - patience.started_ns_;
    if (waited > yielding_turns_ns) {
      patience.naps_ = true;
      if (moves && alone) return arch::pause();
      const bool in_short = patience.short_naps_ != 0;
      patience.short_naps_ -= in_short ? 1 : 0;
      return os::nap(os::nap_of_wait(in_short ? 0 : waited));
    }
  }
  const DearYields::Way way = way_of_yields(!patience.yields_);
  patience.yields_ = true;
  if (way == DearYields::Way::without) return os::nap(os::nap_of_wait(0));
  yield(way);
}

bool WaitingRoom::look_yielding(const Awaited& a, std::uint64_t* seen, unsigned turns) {
  for (unsigned turn = 0; turn < turns; ++turn) {
    sched_yield();
    if (a.look(1, 0, seen)) return true;
    // A yield takes no time, or a time slice of each program that computes on this CPU.
    if (control_->broken()) return false;
  }
  return false;
}

// A rank on the same CPU needs that very CPU, so spinning for it only delays it. Where ranks roam over too
// few CPUs, the awaited rank most likely has none, and every look before the yield keeps it waiting. But
// where the others rest, it has one.
inline bool WaitingRoom::needs_this_cpu(const Awaited& a) const {
  return roaming_.roams_now() ||
         (a.from == any_rank ? roaming_.shares_cpu() : control_->same_cpu(a.from, rank_));
}

bool WaitingRoom::look_before_yields(const Awaited& a, std::uint64_t* seen) {
  if (needs_this_cpu(a)) return false;
  if (a.look(bare_looks, 0, seen)) return true;
  tell_of_a_wait();
  const bool polite_only = !roaming_.shares_cpu() && !control_->crowded();
  const unsigned turns = polite_only                         ? polite_looks_alone
                         : a.meanwhile == Meanwhile::as_much ? polite_looks_let_run
                                                             : polite_looks_sharing;
  return !roaming_.meets(a.from) && a.look(turns, 1, seen);
}

void WaitingRoom::rest_after(std::int64_t waited_ns, Rest& rest) {
  if (roaming_.roams() && waited_ns >= resting_ns && control_->counts_resting()) rest.begin();
}

bool WaitingRoom::spin_then_yield(const Awaited& a, std::uint64_t* seen, Rest& rest, bool yields) {
  if (look_before_yields(a, seen)) return true;
  const std::int64_t start = os::now_ns();
  for (;; yields = true) {
    const DearYields::Way way = way_of_yields(!yields);
    if (way == DearYields::Way::without) return false;
    if (look_in_yields(*control_, a, seen, yields_a_check, way)) return true;
    const std::int64_t waited = os::now_ns() - start;
    rest_after(waited, rest);
    if (waited >= yielding_ns || control_->broken()) return false;
  }
}

void WaitingRoom::check_peers(Patience& patience, const CallHistory& calls, bool in_call) {
  const std::int64_t now = patience.now_ns_;
  const bool long_ago = now - patience.started_ns_ > exception_ns;
  control_->check_left(calls.begun(), long_ago);
  // The others' stores came before they left, so a look after seeing that they left sees everything there
  // will ever be.
  if (patience.alone_) {
    // Breaks the group with the calls' names, if they are still known. The first reason stays.
    control_->check_calls(rank_, calls, true);
    const std::string reason = "waits in call " + std::to_string(calls.begun()) +
                               " for ranks that have left: their calls did not fit";
    control_->break_group(rank_, reason.c_str());
  }
  patience.alone_ = in_call && long_ago && control_->others_have_left();
  // Reading what the others note takes their lines from them, so a rank does it only after a long wait, and
  // seldom. It first notes a barrier, so that ranks which wait in the same barrier are counted as many when
  // calls are compared.
  if (in_call && now - patience.compared_ns_ > compare_calls_ns) {
    control_->check_calls(rank_, calls, patience.compared_ns_ != patience.started_ns_);
    patience.compared_ns_ = now;
  }
}

/// Marks the wait on the board, and breaks the group if all ranks have such marks and none can go on. No mark
/// while another thread may end the wait: that is asked last, and only in a long wait, as counting threads
/// takes the interpreter's lock.
void WaitingRoom::mark_wait(Patience& patience, std::int64_t waited) {
  const auto others_may_end_it = [this] {
    return background_ != nullptr && background_->has_several_communicators() &&
           has_further_threads(control_->root(), background_->interpreter());
  };
  if (waited < threads_counted_ns || others_may_end_it()) return patience.end_mark();
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

namespace {

/// Names the ranks that have noted no call as late as `call`, which `rank` waits in.
std::string not_come(Control& control, int rank, std::uint64_t call) {
  const CallBoard* const board = control.board();
  if (board == nullptr) return "";
  std::string ranks;
  int missing = 0;
  for (int other = 0; other < control.ranks(); ++other) {
    if (other == rank || board->has_come_to(other, call)) continue;
    if (++missing <= 8) ranks += (missing == 1 ? "" : ", ") + std::to_string(control.root_rank(other));
  }
  if (missing == 0) return "";
  return (missing == 1 ? " for rank " : " for ranks ") + ranks + (missing > 8 ? " and more" : "") +
         ", not seen in call " + std::to_string(call);
}

}  // namespace

/// Throws if the group is broken, which it is if this wait cannot end. Returns whether it took in what others
/// have sent.
bool WaitingRoom::check_alive(Patience& patience, bool in_call) {
  const std::int64_t now = patience.now_ns_ = os::now_ns();
  if (patience.started_ns_ == 0) patience.started_ns_ = patience.compared_ns_ = now;
  patience.checked_ = true;
  if (calls_ != nullptr) check_peers(patience, *calls_, in_call);
  const std::int64_t waited = now - patience.started_ns_;
  // What moves proves that the group is not stuck.
  const bool took = in_call && background_ != nullptr && waited > taking_in_ns && background_->take_in();
  if (took) patience.end_mark();
  if (in_call) mark_wait(patience, waited);
  control_->check_broken(rank_);
  if (background_ != nullptr)
    if (Interpreter* const by = background_->interpreter()) by->look_for_signals();
  const std::int64_t limit = control_->timeout_ns();
  if (limit <= 0 || waited <= limit) return took;
  std::string reason = "waited longer than the group's timeout of " + std::to_string(limit / 1000000) + " ms";
  if (in_call && calls_ != nullptr && stuck_ == nullptr)
    reason += not_come(*control_, rank_, calls_->begun());
  control_->break_group(rank_, reason.c_str(), true);
  control_->check_broken(rank_);
  return took;
}

// The other rank may wait for something that this one has begun, such as a large send, so a rank with such
// work does not sleep.
std::uint64_t WaitingRoom::wait_going_on(const Awaited& a) {
  std::uint64_t seen = 0;
  // A rank that shares its CPU, but waits for one on another CPU, would only yield to ranks that wait too.
  // Ranks that share no CPU have already looked before they come here.
  if (roaming_.shares_cpu() && look_before_yields(a, &seen)) return seen;
  Patience patience;
  // Turns take some ten times as long as looks: those before the first yield would last 50 us a wait.
  patience.meets_ = !roaming_.shares_cpu() && !roaming_.roams() &&
                    (roaming_.has_met() ? roaming_.met_before(a.from) : roaming_.meets(a.from));
  while (!a.look(1, 0, &seen)) take_turn(patience);
  return seen;
}

std::uint64_t WaitingRoom::wait_elsewhere(const Awaited& a) {
  std::uint64_t seen = 0;
  while (!a.look(1, 0, &seen)) {
    elsewhere_->wait([](const void* awaited) { return static_cast<const Awaited*>(awaited)->holds(); }, &a);
    control_->check_broken(rank_);
  }
  return seen;
}

std::uint64_t WaitingRoom::wait(const Awaited& a) {
  PHICOLL_ASSERT(ThisBuild, a.from >= any_rank && a.from < control_->ranks(),
                 "a wait for rank " + std::to_string(a.from) + ", which the group does not have");
  PHICOLL_ASSERT(ThisBuild, a.from != rank_ || control_->ranks() == 1,
                 "rank " + std::to_string(a.from) + " waits for itself");
  PHICOLL_ASSERT(ThisBuild, !control_->shared() || control_->holds(a.place, a.bytes),
                 "a wait for a word outside the group's memory");
  if (roaming_.spread_out()) dear_yields.forget();
  if (elsewhere_ != nullptr) return wait_elsewhere(a);
  if (background_ != nullptr && background_->pending()) return wait_going_on(a);
  std::uint64_t seen = 0;
  Patience patience;
  Rest rest(*control_);
  if (policy_.kind == WaitPolicy::Kind::adaptive) {
    // Where ranks share a CPU, most waits end within a few yields: here, with the fewest calls.
    const bool yields = needs_this_cpu(a) || roaming_.met_before(a.from);
    if (yields) {
      tell_of_a_wait();
      const DearYields::Way way = way_of_yields(true);
      if (way != DearYields::Way::without && look_in_yields(*control_, a, &seen, yields_a_check, way))
        return seen;
    }
    if (spin_then_yield(a, &seen, rest, yields)) return seen;
  } else {
    tell_of_a_wait();
  }
  for (;;) {
    const bool took = check_alive(patience, true);
    // It may have begun while this rank waited: what was taken in has further pieces, or another thread has
    // sent something.
    if (background_ != nullptr && background_->pending()) return wait_going_on(a);
    bool holds = false;
    switch (policy_.kind) {
      case WaitPolicy::Kind::spin:
        holds = a.look(turns_a_check, 0, &seen);
        break;
      case WaitPolicy::Kind::pause:
        holds = a.look(turns_a_check / (policy_.pauses + 1) + 1, policy_.pauses, &seen);
        break;
      case WaitPolicy::Kind::yield:
        holds = look_yielding(a, &seen, 64);
        break;
      case WaitPolicy::Kind::adaptive:
        rest_after(patience.now_ns_ - patience.started_ns_, rest);  // it may have left out its yields
        // Whoever found room sends more.
        holds = took ? look_yielding(a, &seen, yields_a_check)
                     : parking::sleep(*control_, a, roaming_, patience.now_ns_ - patience.started_ns_, &seen);
        break;
    }
    if (holds) return seen;
  }
}

}  // namespace phicoll
