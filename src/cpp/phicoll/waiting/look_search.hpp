#pragma once

// One rank's search for a deadlock among ranks that only look for something (test, probe) or wait for it. A
// look does not wait: the program may do anything between two of them, such as send what another rank waits
// for, so a look proves less than a wait.

#include <atomic>
#include <cstdint>

#include "phicoll/waiting/background.hpp"
#include "phicoll/waiting/stuck_search.hpp"

namespace phicoll {

class Control;

// A rank that looks has a mark on the wait board only as long as
//
// (1) it has looked in vain for seconds and nothing that it has begun has moved; another call ends the mark;
// (2) next to nothing lies between its looks: fewer than one gap in 64 is longer than a loop takes. A rank
//     that computes or sleeps between has no mark;
// (3) it looks for something from one known rank, or for a collective call: one that takes whatever comes may
//     be a server that others wake;
// (4) none of its other threads may act.

/// Used by any thread of the rank.
class LookSearch {
 public:
  /// `of` knows the interpreter.
  explicit LookSearch(const Background& of) : of_(of) {}
  /// A gap between looks is measured after so many: a prime, so that no loop's rounds keep in step with it.
  static constexpr unsigned looks_a_gap = 61;

  /// To be called before a look.
  void begin_look() {
    if (__builtin_expect(gap_began_ns_.load(std::memory_order_relaxed) != 0, 0)) end_gap();
  }
  /// To be called after every looks_a_gap-th look in vain. `note` says what for; its peer by its number in
  /// the communicator.
  void in_vain(Control& control, int rank, const WaitNote& note);
  /// The rank has done something else, or its work has moved.
  void end() {
    if (__builtin_expect(has_series_.load(std::memory_order_relaxed), 0)) end_series();
  }
  /// Whether the rank has a mark.
  bool is_marked() const { return marked_.load(std::memory_order_relaxed); }

 private:
  class Hold;
  void end_gap();
  [[gnu::noinline]] void end_series();
  void begin_series(std::int64_t now, const void* thread);
  void end_mark();
  // The argument of stuck_search.hpp holds as for a rank that waits. Step (1) there: each series of looks has
  // its own number, and no rank sent anything in one. Step (3) there: a rank counts one more look on the
  // board only after hundreds, each of which went on with all that it has begun, so the second of two counted
  // looks began after T. What remains is a program that looks for seconds, with all other ranks stuck, and
  // would then give up by itself.
  void count_look(Control& control, int rank, const WaitNote& note, std::int64_t looked_ns);

  const Background& of_;
  std::atomic<std::int64_t> gap_began_ns_{0};  // 0: none is being measured
  std::atomic<bool> has_series_{false};
  std::atomic<bool> is_long_{false};
  std::atomic<bool> marked_{false};
  std::atomic<bool> taken_{false};  // what follows
  const void* thread_ = nullptr;    // whose series it is
  std::int64_t began_ns_ = 0;
  std::uint64_t gaps_ = 0;
  std::uint64_t long_gaps_ = 0;
  WaitMark* mark_ = nullptr;
  StuckSearch search_;
};

}  // namespace phicoll
