// The operations of a rank that let time pass: waiting for a word, polite turns, sleeping until a time.

#include "phicoll/sim/engine/simulation.hpp"

#include <algorithm>

#include "phicoll/arch/arch.hpp"

namespace phicoll {
namespace sim {

namespace {

// A rank that polls by pause() for something that never comes is found by this many turns a rank in vain.
constexpr std::int64_t vain_turns_a_rank = 20000;

}  // namespace

/// Until the next look at a line of the rank's cache that can see something new: not before the line is taken
/// away or written on this core.
void Simulation::look_again(Context& c, LineId line) {
  c.next_look = c.time + pause_;
  c.look_period = look_period(c);
  const int weight = static_cast<int>(full_weight * (c.look_period - pause_) / c.look_period);
  c.line = line;
  if (options_.elide) return suspend(c, Mode::parked, weight);
  wake_at(c, c.next_look);
  set_weight(c, weight);
  c.fiber->suspend();
  if (wheel_.next_time() != wheel_.now()) return;
  // A look sees a change of the same cycle.
  wake_at(c, c.time);
  set_weight(c, weight);
  c.fiber->suspend();
}

std::uint64_t Simulation::wait(int rank, const Awaited& a) {
  Context& c = context(rank);
  sync(c);
  const LineId line = line_of(a.place);
  const int operation = begin_operation(c, OperationKind::wait, line);
  c.awaited = &a;
  for (;;) {
    ++counters_.looks;
    unsigned char own[arch::line_bytes];
    const unsigned width = a.whole_line ? static_cast<unsigned>(arch::line_bytes) : a.bytes;
    if (c.store_count != 0 && own_store(c, line, offset_of(a.place), width, own) != Own::none) drain(c);
    if (operation >= 0) log_->operations[static_cast<std::size_t>(operation)].missed = wheel_.now();
    read_line(c, line, 0);
    if (a.holds()) break;
    if (coherence_.readable(c.core, line)) {
      look_again(c, line);
    } else {
      c.time += pause_;
      sync(c);
    }
  }
  c.awaited = nullptr;
  end_operation(c, cause_of(a.place, a.whole_line ? 0 : a.bytes, a.mask));
  return a.whole_line ? 0 : a.seen();
}

void Simulation::pause(int rank) {
  Context& c = context(rank);
  sync(c);
  spend(c, 1, 0);
  if (c.time >= sleeping_until_ && ++vain_pauses_ > vain_turns_a_rank * std::max(unfinished_, 1))
    throw_stuck("poll");
  begin_operation(c, OperationKind::pause, 0);
  wake_at(c, c.time + machine_.p.pause);
  set_weight(c, 0);
  c.fiber->suspend();
  end_operation(c, Log::none);
}

void Simulation::wait_until(int rank, std::int64_t ticks) {
  Context& c = context(rank);
  if (ticks <= c.time) return;
  // A rank that polls by the clock is found too: it excuses those that poll meanwhile for so many turns only.
  if (++vain_sleeps_ > vain_turns_a_rank * std::max(unfinished_, 1)) throw_stuck("poll");
  sleeping_until_ = std::max(sleeping_until_, ticks);
  wake_at(c, ticks);
  set_weight(c, 0);
  c.fiber->suspend();
}

void Simulation::software(int rank, Software what) {
  Context& c = context(rank);
  const MachineParameters& p = machine_.p;
  spend(c,
        what == Software::call   ? p.software_call
        : what == Software::send ? p.software_send
                                 : p.software_copy,
        0);
}

std::int64_t Simulation::nanoseconds(int rank) const {
  return ticks(rank) * 1000 / machine_.p.clock_mhz;
}

void Simulation::place(const void* place, LineState state, const std::vector<int>& cores) {
  if (wheel_.next_time() != EventWheel::never) throw Error("simulation: a line is placed while ranks run");
  coherence_.place(line_of(place), state, cores);
}

}  // namespace sim
}  // namespace phicoll
