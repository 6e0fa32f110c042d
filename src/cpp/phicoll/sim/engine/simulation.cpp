#include "phicoll/sim/engine/simulation.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "phicoll/arch/arch.hpp"
#include "phicoll/sim/engine/sim_port.hpp"
#include "phicoll/support/aligned_vector.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {
namespace sim {

Simulation::Simulation(const Machine& machine, const Shape& shape, std::size_t bytes,
                       const SimOptions& options)
    : machine_(machine),
      shape_(shape),
      options_(options),
      bytes_(arch::whole_strides(std::max<std::size_t>(bytes, 1))),
      wheel_(options.shuffle, mix_seed(options.seed, 3)),
      random_(mix_seed(options.seed, 4)),
      coherence_(machine.p, wheel_, options.seed, *this, counters_),
      contexts_(static_cast<std::size_t>(shape.size())),
      cores_(static_cast<std::size_t>(machine.p.cores)),
      next_interruption_(static_cast<std::size_t>(machine.p.cores)) {
  const MachineParameters& p = machine_.p;
  const std::string contexts = "1 to " + std::to_string(machine_.contexts()) + " on " + machine_.name;
  if (shape.size() < 1 || shape.size() > machine_.contexts())
    throw ArgumentError("ranks", std::to_string(shape.size()), contexts);
  std::vector<bool> taken(static_cast<std::size_t>(machine_.contexts()));
  for (int r = 0; r < shape.size(); ++r) {
    const int cpu = shape[r].cpu;
    if (cpu < 0 || cpu >= machine_.contexts())
      throw ArgumentError("placement", "context " + std::to_string(cpu) + " for rank " + std::to_string(r),
                          "contexts 0 to " + std::to_string(machine_.contexts() - 1));
    if (taken[static_cast<std::size_t>(cpu)])
      throw ArgumentError("placement", "two ranks on context " + std::to_string(cpu), "one rank a context");
    taken[static_cast<std::size_t>(cpu)] = true;
    Context& c = contexts_[static_cast<std::size_t>(r)];
    c.rank = static_cast<std::int16_t>(r);
    c.core = static_cast<std::int16_t>(cpu / p.contexts_per_core);
    c.stores.resize(static_cast<std::size_t>(p.store_buffer));
    Core& own = core(c);
    c.place = own.ranks;
    own.rank[own.ranks++] = c.rank;
  }
  switch (options.wait.kind) {
    case WaitPolicy::Kind::spin:
      pause_ = 0;
      break;
    case WaitPolicy::Kind::pause:
      pause_ = static_cast<Cycles>(p.pause) * options.wait.pauses;
      break;
    default:
      pause_ = p.pause;
  }
  constexpr int most = max_contexts_per_core * full_weight;
  while (calm_load_ < most && period_under(calm_load_ + 1) == period_under(0)) ++calm_load_;
  if (options.log) {
    log_ = std::make_unique<Log>(shape.size(), options.log_call);
    coherence_.write_log(log_.get());
  }
  if (options.check) coherence_.check_always();
  if (p.protocol != Protocol::local_store) coherence_.add_lines(bytes_ / arch::line_bytes);
  if (options.ghost_from < bytes_) {
    void* const mapping =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED)
      throw ResourceError("simulation: no address space for " + std::to_string(bytes_) + " bytes");
    memory_ = static_cast<unsigned char*>(mapping);
    mapped_ = true;
  } else {
    memory_ = static_cast<unsigned char*>(allocate_strided(bytes_));
    std::memset(memory_, 0, bytes_);
  }
  if (p.protocol == Protocol::local_store) {
    std::vector<int> cores;
    for (const Context& c : contexts_) cores.push_back(c.core);
    local_ = std::make_unique<LocalStores>(p, wheel_, mix_seed(options.seed, 5), memory_, options_.homes,
                                           cores, options.check);
  }
}

Simulation::~Simulation() {
  // Fibers that did not finish are unwound before what they look at goes away.
  for (Context& c : contexts_) c.fiber = os::Fiber();
  if (mapped_)
    munmap(memory_, bytes_);
  else
    std::free(memory_);
}

void Simulation::throw_outside() const {
  assertion_failed("an access outside the " + std::to_string(bytes_) + " bytes of simulated memory",
                   "at < bytes_", __FILE__, __LINE__);
}

std::uint64_t Simulation::image(const void* place, unsigned bytes) const {
  std::uint64_t value = 0;
  std::memcpy(&value, place, bytes);  // words are little-endian on every host of the simulator
  return value;
}

// --- time and fibers
// ----------------------------------------------------------------------------------------

void Simulation::run(const std::function<void(SimPort&)>& body) {
  if (unfinished_ != 0) throw Error("simulation: run again after a run that did not end");
  body_ = body;
  unfinished_ = shape_.size();
  vain_pauses_ = vain_sleeps_ = 0;
  for (Context& c : contexts_) {
    if (!c.fiber) {
      // The fiber serves all runs: a stack and a start cost more than a switch.
      c.fiber = os::Fiber([this, &c] {
        SimPort port(*this, c.rank);
        for (;;) {
          body_(port);
          settle(c);
          --unfinished_;
          note_change();
          c.mode = Mode::finished;
          set_weight(c, 0);
          c.fiber.suspend();
        }
      });
    }
    const Cycles skew =
        options_.start_skew == 0
            ? 0
            : static_cast<Cycles>(random_.below(static_cast<std::uint64_t>(options_.start_skew)));
    wake_at(c, wheel_.now() + skew);
  }
  handle_events();
  counters_.events = wheel_.popped();
  if (log_closed()) return;  // events are left
  // The ranks' last instructions end after the last event.
  for (const Context& c : contexts_) wheel_.advance(c.time);
  if (unfinished_ != 0) throw_stuck("wait");
  if (options_.check) coherence_.check_at_rest();
}

void Simulation::handle_events() {
  for (;;) {
    const Cycles next = wheel_.next_time();
    if (next == EventWheel::never || log_closed()) return;
    look_for_stop(wheel_.popped());
    const Event event = wheel_.pop(next);
    coherence_.handle(event.kind, event.subject, event.core);
  }
}

void Simulation::run_ready() {
  for (std::size_t i = 0; i < ready_.size(); ++i) resume(context(ready_[i]));
  ready_.clear();
}

void Simulation::resume(Context& c) {
  c.mode = Mode::running;
  c.needs = Needs::nothing;
  set_weight(c, full_weight);
  if (c.time < wheel_.now()) c.time = wheel_.now();
  if (go_on(c)) c.fiber.resume();
}

void Simulation::suspend(Context& c, Mode mode, int weight) {
  rest(c, mode, weight);
  c.fiber.suspend();
}

void Simulation::rest(Context& c, Mode mode, int weight) {
  c.mode = mode;
  set_weight(c, weight);
}

void Simulation::wake_at(Context& c, Cycles time) {
  c.mode = Mode::waking;
  c.time = time;
  wheel_.push(time, EventKind::resume, static_cast<std::uint32_t>(c.rank));
}

void Simulation::make_ready(Context& c) {
  c.mode = Mode::waking;
  ready_.push_back(c.rank);
}

void Simulation::throw_if_stopped() const {
  if (options_.stop != nullptr && options_.stop->load(std::memory_order_relaxed)) throw StoppedError();
}

/// Brings the clock to the rank's time; everything earlier happens first.
void Simulation::sync(Context& c) {
  settle(c);
  if (!reaches_its_time(c)) c.fiber.suspend();
}

/// Brings the clock to the rank's time, or returns false if something is earlier: the rank rests until its
/// time has come.
bool Simulation::reaches_its_time(Context& c) {
  look_for_stop(++operations_);
  const MachineParameters& p = machine_.p;
  if (c.core == p.os_core && p.os_interval > 0 &&
      c.time >= next_interruption_[static_cast<std::size_t>(c.core)]) {
    c.time += p.os_duration;
    next_interruption_[static_cast<std::size_t>(c.core)] =
        c.time + p.os_interval / 2 +
        static_cast<Cycles>(random_.below(static_cast<std::uint64_t>(p.os_interval)));
  }
  if (c.time <= wheel_.now()) return true;
  if (c.time < wheel_.next_time() && ready_.size() <= 1) {
    wheel_.advance(c.time);
    return true;
  }
  wake_at(c, c.time);
  return false;
}

/// From look to look of a rank that waits for a line of its cache, as the core's contexts issue now: while it
/// looks it issues itself.
Cycles Simulation::look_period(const Context& c) const {
  return period_under(core(c).load - c.weight);
}

/// The same where the other contexts' weights are `others` in all.
Cycles Simulation::period_under(int others) const {
  const int interval = std::max(machine_.p.issue_interval * full_weight, others + full_weight);
  const Cycles instructions = machine_.p.look_instructions;
  return std::max<Cycles>(machine_.p.l1_hit, instructions * interval / full_weight) + pause_;
}

/// How often the context's siblings that are parked look.
void Simulation::change_looks(const Context& c) {
  const Core& own = core(c);
  Core::each(own.parked & ~(1U << c.place), [&](std::size_t place) {
    Context& other = context(own.rank[place]);
    const Cycles period = look_period(other);
    if (period == other.look_period) return;
    pass_looks(other);
    other.look_period = period;
  });
}

/// Charges the looks of a parked rank up to now, which saw nothing new.
void Simulation::pass_looks(Context& c) {
  if (c.next_look >= wheel_.now()) return;
  const Cycles turns = (wheel_.now() - c.next_look + c.look_period - 1) / c.look_period;
  c.next_look += turns * c.look_period;
  counters_.elided_looks += turns;
  core(c).issue_busy += turns * machine_.p.look_instructions;
}

// --- what the protocol tells -------------------------------------------------------------------------------

void Simulation::fulfilled(int rank, LineId line, Request kind, int position, int transfer) {
  Context& c = context(rank);
  if (kind == Request::write || kind == Request::write_no_read) {
    for (std::size_t i = 0; i < c.store_count; ++i)
      if (store_at(c, i).line == line) {
        store_at(c, i).asked = false;
        store_at(c, i).came = true;
        store_at(c, i).transfer = transfer;
      }
    pump_stores(c);
    if (kind == Request::write_no_read) return;
  }
  if (c.mode != Mode::blocked || c.needs != Needs::line || c.line != line) return;
  if ((kind == Request::write) != (c.kind == Request::write)) return;
  c.transfer = transfer;
  c.position = position;
  make_ready(c);
}

void Simulation::taken(int core, LineId line) {
  const Core& own = cores_[static_cast<std::size_t>(core)];
  Core::each(own.several_stores, [&](std::size_t place) {
    Context& c = context(own.rank[place]);
    for (std::size_t i = 1; i < c.store_count; ++i)
      if (store_at(c, i).line == line && store_at(c, i).came) ++counters_.stolen;
  });
  wake_parked(core, line);
}

/// Ranks of the core that look at this line see something new at their next look.
void Simulation::wake_parked(int core, LineId line) {
  Core& own = cores_[static_cast<std::size_t>(core)];
  const unsigned there = own.parked_on(line);
  if (there == 0) return;
  own.parked = static_cast<std::uint8_t>(own.parked & ~there);
  Core::each(there, [&](std::size_t place) {
    Context& c = context(own.rank[place]);
    pass_looks(c);
    wake_at(c, c.next_look);
  });
}

Counters Simulation::counters() const {
  Counters counters = counters_;
  coherence_.count_services(counters);
  if (local_) local_->count(counters);
  for (const Core& core : cores_) counters.issue_busy.push_back(core.issue_busy);
  return counters;
}

}  // namespace sim
}  // namespace phicoll
