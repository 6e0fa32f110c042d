#pragma once

// The probes of a round. Run by the ranks that take part in them; all other ranks sleep.

#include <sched.h>

#include <algorithm>
#include <cstring>

#include "phicoll/kernels/chase.hpp"
#include "phicoll/kernels/hand_over.hpp"
#include "phicoll/measure/timing.hpp"
#include "phicoll/ports/native_port.hpp"

namespace phicoll {
namespace measure {

class Probes {
 public:
  /// Bytes that the probes use at the round's place and leave zeroed.
  static constexpr std::size_t bytes() { return sizeof(kernels::ChaseLines) * (kernels::chase_length + 1); }

  Probes(const Seat& seat, NativePort& port, unsigned char* memory)
      : seat_(seat),
        port_(port),
        lines_(reinterpret_cast<kernels::ChaseLines*>(memory)),
        word_(lines_[kernels::chase_length].value.word) {}

  void run(const Step& step, RankReport& report) {
    if (seat_.rank != step.pair[0] && seat_.rank != step.pair[1]) return;
    first_ = seat_.rank == step.pair[0];
    other_ = first_ ? step.pair[1] : step.pair[0];
    if (step.kind == StepKind::probe_alone) {
      alone(step, report);
      return;
    }
    near_ = step.kind == StepKind::probe_near;
    if (first_) std::memset(static_cast<void*>(lines_), 0, bytes());
    meet();
    if (near_)
      switches(step, report);
    else
      far(step, report);
    meet();
    if (first_) std::memset(static_cast<void*>(lines_), 0, bytes());
  }

 private:
  // Waits until both ranks have come here. Uses the board's counters, which are zero at the start of the
  // step.
  void meet() {
    ++phase_;
    seat_.board.counter(seat_.rank).store(phase_, std::memory_order_release);
    while (seat_.board.counter(other_).load(std::memory_order_acquire) < phase_)
      if (near_) sched_yield();
  }

  double per(std::uint64_t ticks, double count) const { return seat_.board.clock().to_ns(ticks) / count; }

  void alone(const Step& step, RankReport& report) {
    const StampClock& clock = seat_.board.clock();
    std::memset(static_cast<void*>(lines_), 0, bytes());
    kernels::write_chase(port_, lines_, step.seed);
    double best_local = 1e30;
    double best_empty = 1e30;
    for (int repeat = 0; repeat < 5; ++repeat) {
      // The best of a few: both are properties of the core alone, and an interrupt can only lengthen them.
      kernels::chase(port_, lines_);
      const std::uint64_t start = clock.before();
      for (int turn = 0; turn < 4; ++turn) kernels::chase(port_, lines_);
      best_local = std::min(best_local, per(clock.after() - start, 4.0 * kernels::chase_length));
      const std::uint64_t empty = clock.before();
      for (std::uint64_t i = 0; i < 2048; ++i) empty_turn();
      best_empty = std::min(best_empty, per(clock.after() - empty, 2048.0));
    }
    report.local_ns = best_local;
    report.empty_ns = best_empty;
    std::memset(static_cast<void*>(lines_), 0, bytes());
  }

  void far(const Step& step, RankReport& report) {
    const StampClock& clock = seat_.board.clock();
    double reads[5];
    for (int repeat = 0; repeat < 5; ++repeat) {
      if (first_) kernels::write_chase(port_, lines_, step.seed + static_cast<std::uint64_t>(repeat));
      meet();
      if (!first_) {
        const std::uint64_t start = clock.before();
        kernels::chase(port_, lines_);
        reads[repeat] = per(clock.after() - start, kernels::chase_length);
      }
      meet();
    }
    constexpr std::uint64_t warm = 32;
    double pings[5];
    std::uint64_t at = 0;
    kernels::hand_over<kernels::BareLook>(port_, word_, first_, at, warm);
    at += 2 * warm;
    for (double& ping : pings) {
      meet();
      const std::uint64_t turns = step.calls;
      const std::uint64_t start = clock.before();
      kernels::hand_over<kernels::BareLook>(port_, word_, first_, at, turns);
      ping = per(clock.after() - start, 2.0 * static_cast<double>(turns));
      at += 2 * turns;
    }
    std::sort(pings, pings + 5);
    if (first_) report.pingpong_ns = pings[2];
    if (!first_) {
      std::sort(reads, reads + 5);
      report.read_ns = reads[2];
    }
  }

  void switches(const Step& step, RankReport& report) {
    const StampClock& clock = seat_.board.clock();
    kernels::hand_over<kernels::YieldLook>(port_, word_, first_, 0, 8);
    const std::uint64_t start = clock.before();
    kernels::hand_over<kernels::YieldLook>(port_, word_, first_, 16, step.calls);
    const double ns = per(clock.after() - start, 2.0 * static_cast<double>(step.calls));
    if (first_) report.switch_ns = ns;
  }

  const Seat& seat_;
  NativePort& port_;
  kernels::ChaseLines* lines_;
  Word<std::uint64_t>& word_;
  bool first_ = false;
  bool near_ = false;
  int other_ = 0;
  std::uint64_t phase_ = 0;
};

}  // namespace measure
}  // namespace phicoll
