#pragma once

// Which ranks are on this rank's CPU, and what follows for its waits: how often a wait looks before it does
// anything else, whether it yields first, and whether a rank that is not pinned moves to another CPU.

#include <cstdint>

#include "phicoll/memory/control.hpp"
#include "phicoll/memory/policies.hpp"

namespace phicoll {

class Roaming {
 public:
  /// Ranks that share a CPU by chance had better move apart where they wait more often than this: a call then
  /// takes two switches. Where they compute for longer, they lose more to the other CPU's program.
  static constexpr std::int64_t worth_a_move_ns = 10 * 1000;

  Roaming(Control& control, int rank, const WaitPolicy& policy)
      : control_(&control),
        rank_(rank),
        shares_cpu_(control.shares_cpu(rank)),
        roams_(control.roams(rank)),
        kind_(policy.kind),
        looks_in_place_(looks_alone()) {}

  /// How often a wait looks before it does anything else: 0 where the awaited rank may need this very CPU.
  unsigned looks_in_place() const { return looks_in_place_; }
  /// Sets it to none, or to what the policy says.
  void look_in_place(bool looks) {
    waits_met_ = 0;
    looks_in_place_ = looks ? looks_alone() : 0;
  }
  /// Whether another rank is pinned to this rank's CPU.
  bool shares_cpu() const { return shares_cpu_; }
  /// Whether this rank changes CPUs all the time: not pinned, in a group with more ranks than CPUs.
  bool roams() const { return roams_; }
  /// The same, and more ranks need a CPU now than there are.
  bool roams_now() const { return roams_ && control_->crowded_now(); }

  // Where this rank is, for the others to see, if it roams.
  void note_asleep() {
    if (roams_) control_->note_asleep(rank_);
  }
  void note_awake() {
    if (roams_) note_cpu();
  }
  /// To be called in each wait that is not over at once: notes the CPU, and now and then moves to one that
  /// has fewer ranks. Returns whether the rank has moved since the last such call.
  bool spread_out();

  /// Whether the rank `from`, or any if that is any_rank, was last noted on this CPU. If so, later waits do
  /// not look in place.
  bool meets(int from);
  /// Whether that rank is still here after an earlier wait has met one.
  bool met_before(int from);
  /// Whether an earlier wait has met one.
  bool has_met() const { return waits_met_ != 0; }

 private:
  // Some microseconds.
  static constexpr unsigned bare_looks = 512;

  // Only if the policy spins first and the awaited rank cannot need this very CPU.
  unsigned looks_alone() const {
    const bool spins_first = kind_ == WaitPolicy::Kind::spin || kind_ == WaitPolicy::Kind::adaptive;
    return spins_first && !shares_cpu_ && !roams_ ? bare_looks : 0;
  }
  void note_cpu();
  /// To be called when a rank is met that shares this CPU by chance: moves to one without ranks if waits meet
  /// it in short calls.
  void move_apart();

  Control* control_;
  int rank_;
  bool shares_cpu_;
  bool roams_;
  WaitPolicy::Kind kind_;
  unsigned looks_in_place_;  // none while another rank is met on this CPU
  unsigned waits_met_ = 0;   // those since then; 0: none is met
  unsigned waits_ = 0;       // of a rank that roams
  unsigned crowds_ = 0;      // how often in a row this rank had better moved to another CPU
  unsigned moves_ = 0;       // to others, each within a second of the one before
  bool moved_ = false;       // since spread_out() was called last
  std::int64_t moved_ns_ = 0;
  std::int64_t met_ns_ = 0;  // when waits last began to meet a rank
};

}  // namespace phicoll
