#pragma once

// One rank's search for ranks that can only look for something, or wait for it, from each other. Looks are tests and probes: calls
// that do not wait.
//
// Between two looks a program may do anything, such as to send what another rank waits for, so a look proves less than a wait. A
// rank that looks has a mark on the wait board only as long as
//
//  1. it has looked in vain for seconds, nothing that it has begun has moved, and it has made no other call. The next other
//     call ends the mark before it does anything;
//  2. next to nothing lies between its looks: of 64 gaps between two looks fewer than one is longer than what a loop takes. A
//     rank that computes, sleeps or asks the system for something between its looks has no mark;
//  3. what it looks for is to come from one known rank, or is a collective call. A rank that takes whatever comes may be a
//     server that something beside the group wakes;
//  4. no other thread of it may act.
//
// The argument of wait_board.hpp then holds for it as for a rank that waits. The first step: each series of looks has a number of
// its own, and no rank sent anything in one. The third: the rank counts one more look on the board only after hundreds, each of
// which went on with all that it has begun, so that of two that are counted the second began after T.
//
// What remains is a program that looks and looks for seconds, with all other ranks stuck, and gives up then of itself.

#include <atomic>
#include <cstdint>

#include "phicoll/memory/wait_board.hpp"

namespace phicoll {

class Control;

/// Used by any thread of the rank.
class LookSearch {
 public:
  /// A gap between looks is measured after so many: a prime, so that no loop's rounds keep in step with it.
  static constexpr unsigned looks_a_gap = 61;

  /// To be called before a look.
  void begin_look() {
    if (__builtin_expect(gap_began_ns_.load(std::memory_order_relaxed) != 0, 0)) end_gap();
  }
  /// To be called after every looks_a_gap-th look in vain. `note` says what for; its peer by its number in the communicator.
  void in_vain(Control& control, int rank, const WaitNote& note);
  /// The rank has done something else, or something of it has moved.
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
  void count_look(Control& control, int rank, const WaitNote& note, std::int64_t looked_ns);

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
