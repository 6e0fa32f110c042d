#pragma once

// The two definitions of a collective's run time, and the check that a barrier is one. Templates over
// anything callable, so that a hand-written loop is timed without a function call in it.

#include <sched.h>

#include <cstdio>

#include "phicoll/measure/step_board.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {
namespace measure {

/// A rank's seat in a step: its number, and whether it shares its CPU with another rank. If it does, it
/// yields the CPU while it waits for a time or a step, since the other must run.
struct Seat {
  StepBoard& board;
  int rank;
  int ranks;
  bool shares_cpu;
  unsigned char* memory = nullptr;  ///< the subject's shared memory where it can be evicted
  unsigned char* shared = nullptr;  ///< a program's memory that all ranks reach
};

/// The random delay of one rank before one call, in ticks. Every rank can compute it.
inline std::uint64_t delay_ticks(const Step& step, std::uint64_t call, int rank, std::uint64_t range) {
  if (range == 0) return 0;
  Random random(mix_seed(step.seed, call, static_cast<std::uint64_t>(rank)));
  return random.below(range + 1);
}

/// One iteration of the empty loop: what a back-to-back loop costs without its call.
inline void empty_turn() {
  __asm__ __volatile__("" : : : "memory");
}

inline void wait_ticks(const StampClock& clock, std::uint64_t ticks) {
  const std::uint64_t start = clock.before();
  while (clock.before() - start < ticks) {
  }
}

/// How many empty turns a rank makes before it enters a window's call. Clocks advance in steps (10 ns on a
/// Zen 5), and a rank that waits for a time resumes just after a step. Two calls of slightly different
/// lengths would then look equal, or a whole step apart, throughout a run. Spreading the entries over the
/// steps makes the mean correct.
inline std::uint64_t spread_turns(const Step& step, std::uint64_t call, int rank) {
  constexpr std::uint64_t turns = 128;  // some 30 ns; mpi_collectives.c has as many
  return Random(mix_seed(~step.seed, call, static_cast<std::uint64_t>(rank))).below(turns);
}

/// Makes all ranks of a step meet. Uses the board's counters, which are zero at the start of the step.
class Meetings {
 public:
  /// `met`: an upper bound of the ranks' counters so far in this step.
  explicit Meetings(const Seat& seat, std::uint64_t met = 0) : seat_(seat), phase_(met) {}
  void operator()() {
    ++phase_;
    seat_.board.counter(seat_.rank).store(phase_, std::memory_order_release);
    for (int r = 0; r < seat_.ranks; ++r)
      while (seat_.board.counter(r).load(std::memory_order_acquire) < phase_)
        if (seat_.shares_cpu) sched_yield();
  }

 private:
  const Seat& seat_;
  std::uint64_t phase_;
};

/// What a rank does before each call of a barrier: nothing. A rank that leaves a barrier also knows that all
/// others have entered it and are on their way out. A rank that leaves an operation that moves data
/// (`writes`) does not know that.
struct NothingBefore {
  static constexpr bool writes = false;
  void operator()(std::uint64_t) const {}
};

/// Times back-to-back calls with `before(i)` before each. `report.ticks` is the time of all timed calls of
/// this rank, `report.ideal_ticks` that of the delays and of `before` alone. Where ranks write, both come
/// with the stamps at which they began, because ranks that share CPUs write one after the other in both
/// loops.
template <class Before, class Call>
void time_loop(const Seat& seat, const Step& step, Before before, Call&& call, RankReport& report) {
  const StampClock& clock = seat.board.clock();
  report.calls = step.calls;
  report.start = report.ideal_start = 0;
  Meetings meet(seat);
  if (step.delay_ns <= 0 && step.imbalance_ns <= 0) {
    report.ideal_ticks = 0;
    if (Before::writes) {
      meet();
      report.ideal_start = clock.before();
      for (std::uint64_t i = 0; i < step.calls; ++i) {
        before(i);
        empty_turn();
      }
      report.ideal_ticks = clock.after() - report.ideal_start;
      meet();
    }
    for (std::uint64_t i = 0; i < step.warmups; ++i) {
      before(i);
      call();
    }
    // All start together: the time of a rank that begins earlier would include its wait for the others.
    if (Before::writes) meet();
    const std::uint64_t start = clock.before();
    for (std::uint64_t i = 0; i < step.calls; ++i) {
      before(i);
      call();
      empty_turn();
    }
    report.ticks = clock.after() - start;
    if (Before::writes) {
      report.start = start;
      meet();  // a rank that checked its result now would take time from those that share its CPU
    }
    return;
  }
  const std::uint64_t delay = clock.to_ticks(step.delay_ns);
  const std::uint64_t range = clock.to_ticks(step.imbalance_ns);
  // The time of the delays without barriers. An ideal barrier would take the slowest rank's delay in each
  // call; added to the sum is how much longer than asked this rank's waiting takes (the cost of reading the
  // clock).
  std::uint64_t ideal = 0;
  std::uint64_t asked = 0;
  for (std::uint64_t i = 0; i < step.calls; ++i) {
    std::uint64_t slowest = 0;
    for (int r = 0; r < seat.ranks; ++r) {
      const std::uint64_t of_rank = delay_ticks(step, i, r, range);
      if (of_rank > slowest) slowest = of_rank;
      if (r == seat.rank) asked += delay + of_rank;
    }
    ideal += delay + slowest;
  }
  const auto waits = [&, delay, range](bool with_call) {
    const std::uint64_t start = clock.before();
    for (std::uint64_t i = 0; i < step.calls; ++i) {
      wait_ticks(clock, delay + delay_ticks(step, i, seat.rank, range));
      before(i);
      if (with_call) call();
      empty_turn();
    }
    return clock.after() - start;
  };
  const std::uint64_t alone = waits(false);
  for (std::uint64_t i = 0; i < step.warmups; ++i) call();
  if (Before::writes) meet();
  report.ticks = waits(true);
  if (Before::writes) meet();  // as above
  report.ideal_ticks = ideal + (alone > asked ? alone - asked : 0);
}

/// Drops this rank's share of the subject's memory from all caches, at a time when the ranks have left the
/// previous call. Where an eviction reaches only the own core's caches (the Xeon Phi), every rank drops all.
inline void evict_share(const Seat& seat, const Step& step, std::uint64_t not_before) {
  const StampClock& clock = seat.board.clock();
  while (static_cast<std::int64_t>(clock.before() - not_before) < 0)
    if (seat.shares_cpu) sched_yield();
  const auto part = static_cast<std::uint64_t>(arch::evict_reaches_all_cores ? seat.rank : 0);
  const auto parts = static_cast<std::uint64_t>(arch::evict_reaches_all_cores ? seat.ranks : 1);
  for (std::uint64_t at = part * arch::line_bytes; at < step.evict_bytes; at += parts * arch::line_bytes)
    arch::evict_line(seat.memory + at);
  arch::full_fence();
}

/// Times calls that each begin at a common start. Rank 0 announces a start after its own exit from the
/// previous call, when all others are on their way out; where ranks write first, once all have written. A
/// rank that misses a start is counted as late. To fix the starts in advance, one would need to know how long
/// a call takes.
template <class Before, class Call>
void time_windows(const Seat& seat, const Step& step, Before before, Call&& call, RankReport& report) {
  StepBoard& board = seat.board;
  const StampClock& clock = board.clock();
  std::atomic<std::uint64_t>* starts = board.starts();
  std::uint64_t* entries = board.entries(seat.rank);
  std::uint64_t* exits = board.exits(seat.rank);
  const std::uint64_t range = clock.to_ticks(step.jitter_ns);
  const std::uint64_t slack = clock.to_ticks(step.slack_ns);
  const std::uint64_t cap = clock.to_ticks(step.cap_ns);
  for (std::uint64_t i = 0; i < step.warmups; ++i) {
    before(i);
    call();
  }
  const std::uint64_t begin = clock.before();
  std::uint64_t i = 0;
  std::uint64_t late = 0;
  for (; i < step.calls; ++i) {
    if (Before::writes) {
      before(i);
      board.counter(seat.rank).store(i + 1, std::memory_order_release);
    }
    if (seat.rank == 0) {
      for (int r = 1; Before::writes && r < seat.ranks; ++r)
        while (board.counter(r).load(std::memory_order_acquire) < i + 1)
          if (seat.shares_cpu) sched_yield();
      const std::uint64_t now = clock.before();
      // 1 means "no more": a start is a time and never that small.
      const bool enough = i > 0 && now - begin > cap;
      starts[i].store(enough ? 1 : now + slack, std::memory_order_release);
    }
    std::uint64_t start;
    while ((start = starts[i].load(std::memory_order_acquire)) == 0)
      if (seat.shares_cpu) sched_yield();
    if (start == 1) break;
    if (step.evict_bytes != 0 && seat.memory != nullptr) evict_share(seat, step, start - slack / 2);
    const std::uint64_t mine = start + delay_ticks(step, i, seat.rank, range);
    const std::uint64_t turns = spread_turns(step, i, seat.rank);
    std::uint64_t now = clock.before();
    if (now > mine) ++late;
    while (now < mine) {
      if (seat.shares_cpu) sched_yield();
      now = clock.before();
    }
    for (std::uint64_t turn = 0; turn < turns; ++turn) empty_turn();
    entries[i] = clock.before();
    call();
    exits[i] = clock.after();
  }
  report.calls = i;
  report.late = late;
  if (Before::writes) Meetings(seat, step.calls)();  // as after a loop
}

/// Checks that no rank leaves a call before every rank has entered it. Each rank counts its entries where all
/// can read them, and looks at all counters when it leaves. `report.calls` is the number of calls made.
template <class Call>
void verify_barrier(const Seat& seat, const Step& step, Call&& call, RankReport& report) {
  StepBoard& board = seat.board;
  const StampClock& clock = board.clock();
  const std::uint64_t range = clock.to_ticks(step.jitter_ns);
  const std::uint64_t cap = clock.to_ticks(step.cap_ns);
  const std::uint64_t begin = clock.before();
  std::uint64_t calls = 0;
  for (;;) {
    ++calls;
    if (seat.rank == 0 && (calls == step.calls || (calls >= step.warmups && clock.before() - begin > cap)))
      board.last_call().store(calls, std::memory_order_release);
    wait_ticks(clock, delay_ticks(step, calls, seat.rank, range));
    // Relaxed on purpose: the barrier itself must make the counters visible.
    board.counter(seat.rank).store(calls, std::memory_order_relaxed);
    call();
    for (int r = 0; r < seat.ranks && report.violated == 0; ++r) {
      const std::uint64_t entered = board.counter(r).load(std::memory_order_relaxed);
      if (entered == calls || entered == calls + 1) continue;
      report.violated = 1;
      std::snprintf(report.error, sizeof report.error,
                    "rank %d left call %llu when rank %d had entered call %llu", seat.rank,
                    static_cast<unsigned long long>(calls), r, static_cast<unsigned long long>(entered));
    }
    const std::uint64_t last = board.last_call().load(std::memory_order_acquire);
    if (last != 0 && calls >= last) break;
  }
  report.calls = calls;
  report.call_ns = clock.to_ns(clock.after() - begin) / static_cast<double>(calls);
}

/// Runs the step's timing or verification on any barrier that can be called.
template <class Call>
void run_step(const Seat& seat, const Step& step, Call&& call, RankReport& report) {
  switch (step.kind) {
    case StepKind::verify:
      verify_barrier(seat, step, call, report);
      break;
    case StepKind::loop:
      time_loop(seat, step, NothingBefore(), call, report);
      break;
    case StepKind::window:
      time_windows(seat, step, NothingBefore(), call, report);
      break;
    default:
      break;
  }
}

}  // namespace measure
}  // namespace phicoll
