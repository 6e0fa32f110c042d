#pragma once

// One rank's waits in real memory, from the second look on: it looks on, yields, sleeps, or goes on with the
// rank's other work, as the policy and the ranks on its CPU demand; and it ends when the group breaks.

#include <cstdint>
#include <utility>

#include "phicoll/memory/call_history.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/policies.hpp"
#include "phicoll/waiting/awaited.hpp"
#include "phicoll/waiting/background.hpp"
#include "phicoll/waiting/parking.hpp"
#include "phicoll/waiting/roaming.hpp"
#include "phicoll/waiting/stuck_search.hpp"

namespace phicoll {

/// How long a wait has lasted, as of the last look at the clock, and its mark on the wait board.
class Patience {
 public:
  Patience() = default;
  ~Patience() { end_mark(); }
  void end_mark() {
    if (mark_ != nullptr) mark_->end();
  }
  /// Whether the wait has come to a check of the group since this was asked before.
  bool has_checked() { return std::exchange(checked_, false); }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

 private:
  friend class WaitingRoom;
  std::int64_t started_ns_ = 0;
  std::int64_t now_ns_ = 0;       // at the last look
  std::int64_t compared_ns_ = 0;  // when calls were compared last
  std::uint64_t turns_ = 0;
  WaitMark* mark_ = nullptr;
  bool alone_ = false;  // all others had left at the last check
  bool checked_ = false;
  bool meets_ = false;  // another rank was on this CPU after the first looks
  bool naps_ = false;
  bool yields_ = false;      // it has come to its yields
  unsigned short_naps_ = 0;  // to come, as other work of the rank may have more to move
};

class WaitingRoom {
 public:
  /// `calls`: the collective calls that this rank has begun. Their number tells a wait that cannot end (a
  /// peer left before this call) from one that will. `stuck` serves waits for messages, in which `calls` is
  /// null.
  WaitingRoom(Control& control, int rank, const WaitPolicy& policy, const CallHistory* calls,
              StuckSearch* stuck)
      : control_(&control),
        calls_(calls),
        stuck_(stuck),
        rank_(rank),
        policy_(policy),
        roaming_(control, rank, policy) {}

  /// Sets the work that goes on in waits; null for none.
  void set_background(Background* background) { background_ = background; }
  /// Sets what a wait that is not over at once is handed to; null for nothing.
  void set_elsewhere(Elsewhere* elsewhere) {
    elsewhere_ = elsewhere;
    roaming_.look_in_place(elsewhere == nullptr);
  }

  Control& control() const { return *control_; }
  const CallHistory* calls() const { return calls_; }
  int rank() const { return rank_; }
  const WaitPolicy& policy() const { return policy_; }
  const Roaming& roaming() const { return roaming_; }
  /// Whether the rank's thread stays in a wait until it is over.
  bool stays() const { return elsewhere_ == nullptr; }

  /// Waits, once the first looks were in vain. Returns the word. Out of line and no template: measured to
  /// cost nothing, and waiting has to be right in one place only.
  [[gnu::noinline, gnu::cold]] std::uint64_t wait(const Awaited& awaited);
  /// A turn, after a look in vain, of a wait for any of several words; `patience` is the wait's. Ends with
  /// the group.
  void take_turn(Patience& patience);
  /// To be called now and then in a wait that takes no turns. Throws if the group is broken, and what a
  /// signal's handler throws.
  void check(Patience& patience) { check_alive(patience, false); }
  /// Breaks the group if the others have left, or make other calls than `calls`. No other thread may add to
  /// them meanwhile. To be called after a check, in which the room does this itself if it knows the calls.
  void check_peers(Patience& patience, const CallHistory& calls, bool in_call = true);
  /// Gives the CPU to another rank that needs it. Returns at once where none does.
  void yield_if_needed();
  /// A thread is about to wait for something else, or to copy for long.
  void tell_of_a_wait() const {
    if (background_ != nullptr) background_->tell_of_a_wait();
  }

 private:
  /// Counts the rank as resting, from begin() to the end of its wait.
  class Rest;
  bool needs_this_cpu(const Awaited& awaited) const;
  bool look_before_yields(const Awaited& awaited, std::uint64_t* seen);
  bool look_yielding(const Awaited& awaited, std::uint64_t* seen, unsigned turns);
  /// `yields`: whether the wait has come to yields before.
  bool spin_then_yield(const Awaited& awaited, std::uint64_t* seen, Rest& rest, bool yields);
  void rest_after(std::int64_t waited_ns, Rest& rest);
  std::uint64_t wait_going_on(const Awaited& awaited);
  std::uint64_t wait_elsewhere(const Awaited& awaited);
  bool check_alive(Patience& patience, bool in_call);
  void mark_wait(Patience& patience, std::int64_t waited);

  Control* control_;
  const CallHistory* calls_;
  StuckSearch* stuck_;
  Background* background_ = nullptr;
  Elsewhere* elsewhere_ = nullptr;
  int rank_;
  WaitPolicy policy_;
  Roaming roaming_;
};

}  // namespace phicoll
