#include "phicoll/waiting/roaming.hpp"

#include <algorithm>
#include <new>
#include <vector>

#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"

namespace phicoll {

namespace {

// A rank that roams sees whether it had better move at every 16th wait. It moves when it had better four
// times in a row; if it moved in the last second, 8, 16, 32, then 64 times, as the system may have put it
// there because of other programs.
constexpr unsigned waits_a_look_around = 16, times_before_a_move = 4, most_doublings = 4;
// A rank that yields to one on its CPU looks in place again, for some microseconds, at every 64th wait.
constexpr unsigned waits_a_look_in_place = 64;
constexpr std::int64_t settled_ns = 1000 * 1000 * 1000;

}  // namespace

void Roaming::note_cpu() {
  control_->note_cpu(rank_, os::current_cpu());
}

// The kernel may leave three of four ranks, or both that are awake, on one of two CPUs for seconds, as no CPU
// has been idle for long. That slows down every call.
bool Roaming::spread_out() {
  const bool moved = moved_;
  moved_ = false;
  if (!roams_) return moved;
  note_cpu();
  if (++waits_ % waits_a_look_around != 0) return moved;
  try {
    const std::vector<int> emptier = control_->emptier_cpus(rank_);
    crowds_ = emptier.empty() ? 0 : crowds_ + 1;
    if (crowds_ < times_before_a_move << std::min(moves_, most_doublings)) return moved;
    crowds_ = 0;
    const std::int64_t now = os::now_ns();
    moves_ = now - moved_ns_ < settled_ns ? moves_ + 1 : 1;
    moved_ns_ = now;
    os::move_to_cpus(emptier);
  } catch (const std::bad_alloc&) {
    return moved;  // it waits where it is
  }
  note_cpu();
  return true;
}

// There are as many CPUs as ranks, so the CPU without a rank is another program's. Beside that program a rank
// meets its peers in nanoseconds for half of the time; beside a peer, each call takes two switches. The
// kernel brings it back whenever a peer sleeps meanwhile, so the rank moves again, and does not wait for
// longer each time. Called at every 64th of such waits.
void Roaming::move_apart() {
  const std::int64_t now = os::now_ns(), since = now - met_ns_;
  met_ns_ = now;
  if (since > worth_a_move_ns * waits_a_look_in_place) return;
  try {
    const std::vector<int> taken = control_->cpus_to_leave(rank_);
    if (taken.empty() || !os::move_to_cpus(os::allowed_cpus_but(taken))) return;
    note_cpu();
    moved_ = true;
  } catch (const std::bad_alloc&) {
    return;
  }
}

// The kernel puts ranks that are not pinned on one CPU where another program keeps the other busy, and leaves
// them there for long, as each wakes the other. Looks would then last as long as some ten yields, polite ones
// as some hundred. So later waits do not look in place.
bool Roaming::meets(int from) {
  const bool here = control_->cpu(rank_) < 0 && control_->meets(rank_, from, os::current_cpu());
  if (here && looks_in_place_ != 0 && kind_ == WaitPolicy::Kind::adaptive) {
    waits_met_ = 1;
    looks_in_place_ = 0;
    move_apart();
  }
  return here;
}

// A note may be old: its rank moved, and has not waited for long since. So every 64th wait looks again, and
// finds an answer only where that rank has another CPU.
bool Roaming::met_before(int from) {
  if (waits_met_ == 0) return false;
  const bool again = ++waits_met_ % waits_a_look_in_place == 0;
  if (!again && meets(from)) return true;
  if (again || from == any_rank || !meets(any_rank)) look_in_place(true);
  return false;
}

}  // namespace phicoll
