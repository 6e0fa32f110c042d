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

/// The rank rests until the next look at a line of its cache that can see something new: not before the line
/// is taken away or written on this core.
void Simulation::look_again(Context& c, LineId line) {
  c.next_look = c.time + pause_;
  c.look_period = look_period(c);
  c.line = line;
  c.step = options_.elide ? Step::look : Step::second_look;
  if (options_.elide) return park(c);
  wake_at(c, c.next_look);
  set_weight(c, weight_of_looks(c));
}

void Simulation::park(Context& c) {
  Core& own = core(c);
  own.line[c.place] = c.line;
  own.parked = static_cast<std::uint8_t>(own.parked | 1U << c.place);
  rest(c, Mode::parked, weight_of_looks(c));
}

/// The share of the issue port that looks in a loop take.
int Simulation::weight_of_looks(const Context& c) const {
  return static_cast<int>(full_weight * (c.look_period - pause_) / c.look_period);
}

/// Whether the rank's own stores to what it waits for are not visible yet.
bool Simulation::stores_there(Context& c, LineId line, const Awaited& a) {
  unsigned char own[arch::line_bytes];
  const unsigned width = a.whole_line ? static_cast<unsigned>(arch::line_bytes) : a.bytes;
  return own_store(c, line, offset_of(a.place), width, own) != Own::none;
}

std::uint64_t Simulation::wait(int rank, const Awaited& a) {
  Context& c = context(rank);
  c.awaited = &a;
  c.awaited_line = line_of(a.place);
  c.seen_bytes = 0;
  if (c.step == Step::store) {
    c.fiber.suspend();
  } else {
    c.step = Step::start;
    if (!reaches_its_time(c) || !go_on(c)) c.fiber.suspend();
  }
  if (local_) {
    const auto* first = static_cast<const unsigned char*>(a.place);
    heard(c, first, a.whole_line ? arch::line_bytes : 1);
    if (local_->home(rank, first) != rank) {
      const std::size_t bytes = entry_of(first, &first);
      see(c, first, bytes);
    }
  }
  end_operation(c, cause_of(a.place, a.whole_line ? 0 : a.bytes, a.mask));
  return a.whole_line ? 0 : a.seen();
}

/// Takes the rank's steps. Returns whether its fiber goes on; if not, the rank rests until an event.
bool Simulation::go_on(Context& c) {
  const LineId line = c.awaited_line;
  for (;;) {
    switch (c.step) {
      case Step::store:
        c.step = Step::none;
        make_store(c);
        if (c.awaited == nullptr) return true;
        c.step = Step::start;
        if (!reaches_its_time(c)) return false;
        continue;
      case Step::start:
        begin_operation(c, OperationKind::wait, line);
        [[fallthrough]];
      case Step::look:
        ++counters_.looks;
        if (c.store_count != 0 && stores_there(c, line, *c.awaited)) {
          c.step = Step::drain;
          if (!reaches_its_time(c)) return false;
          continue;
        }
        [[fallthrough]];
      case Step::read:
        if (log_) log_->operations[static_cast<std::size_t>(c.operation)].missed = wheel_.now();
        c.step = Step::compare;
        if (local_ ? !looks_at_once(c) : !reads_at_once(c, line, 0)) return false;
        [[fallthrough]];
      case Step::compare:
        if (c.awaited->holds()) {
          c.awaited = nullptr;
          c.step = Step::none;
          return true;
        }
        if (at_hand(c, line)) {
          look_again(c, line);
          return false;
        }
        c.time += pause_;
        c.step = Step::look;
        if (!reaches_its_time(c)) return false;
        continue;
      case Step::drain:
        c.step = Step::read;
        if (c.store_count == 0) continue;
        c.needs = Needs::buffer_empty;
        rest(c, Mode::blocked, 0);
        return false;
      case Step::second_look:
        c.step = Step::look;
        if (wheel_.next_time() != wheel_.now()) continue;
        wake_at(c, c.time);
        set_weight(c, weight_of_looks(c));
        return false;
      case Step::none:
        return true;
    }
  }
}

void Simulation::pause(int rank) {
  Context& c = context(rank);
  sync(c);
  c.seen_bytes = 0;
  spend(c, 1, 0);
  if (c.time >= sleeping_until_ && ++vain_pauses_ > vain_turns_a_rank * std::max(unfinished_, 1))
    throw_stuck("poll");
  begin_operation(c, OperationKind::pause, 0);
  wake_at(c, c.time + machine_.p.pause);
  set_weight(c, 0);
  c.fiber.suspend();
  end_operation(c, Log::none);
}

void Simulation::wait_until(int rank, std::int64_t ticks) {
  Context& c = context(rank);
  settle(c);
  if (ticks <= c.time) return;
  // A rank that polls by the clock is found too: it excuses those that poll meanwhile for so many turns only.
  if (++vain_sleeps_ > vain_turns_a_rank * std::max(unfinished_, 1)) throw_stuck("poll");
  sleeping_until_ = std::max(sleeping_until_, ticks);
  wake_at(c, ticks);
  set_weight(c, 0);
  c.fiber.suspend();
}

void Simulation::software(int rank, Software what) {
  Context& c = context(rank);
  settle(c);
  const MachineParameters& p = machine_.p;
  int left = what == Software::call   ? p.software_call
             : what == Software::send ? p.software_send
                                      : p.software_copy;
  // A copy's go in parts, so that siblings which begin meanwhile take their turns.
  constexpr int part = 10;
  for (; what == Software::copy && left > part; left -= part) {
    spend(c, part, 0);
    sync(c);
  }
  spend(c, left, 0);
  // The caller's data is there when a collective returns.
  if (local_ && what == Software::call) {
    sync(c);
    begin_operation(c, OperationKind::fence, 0);
    finish_commands(c, nullptr, 0);
    end_operation(c, Log::none);
  }
}

void Simulation::compute(int rank, int instructions) {
  Context& c = context(rank);
  settle(c);
  spend(c, instructions, 0);
}

std::int64_t Simulation::ticks(int rank) {
  Context& c = context(rank);
  settle(c);
  if (local_) finish_commands(c, nullptr, 0);  // what the rank has asked for has come
  return c.time;
}

std::int64_t Simulation::nanoseconds(int rank) {
  return ticks(rank) * 1000 / machine_.p.clock_mhz;
}

void Simulation::place(const void* place, LineState state, const std::vector<int>& cores) {
  if (wheel_.next_time() != EventWheel::never) throw Error("simulation: a line is placed while ranks run");
  if (!local_) coherence_.place(line_of(place), state, cores);
}

}  // namespace sim
}  // namespace phicoll
