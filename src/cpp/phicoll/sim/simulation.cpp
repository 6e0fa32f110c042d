#include "phicoll/sim/simulation.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "phicoll/arch/arch.hpp"
#include "phicoll/collectives/aligned_vector.hpp"
#include "phicoll/sim/sim_port.hpp"

namespace phicoll {
namespace sim {

namespace {

constexpr int full_weight = 256;
// A rank that polls by pause() for something that never comes is found by this many turns a rank in vain.
constexpr std::int64_t vain_turns_a_rank = 20000;
// And one that does so without pause() by this many loads.
constexpr std::int64_t vain_loads_a_rank = 4000000;

template <class T>
bool word_holds(const Awaited& a, std::uint64_t seen) {
  return Condition<T>{a.kind, static_cast<T>(a.value), static_cast<T>(a.mask)}(static_cast<T>(seen));
}

const char* words_of(ConditionKind kind) {
  switch (kind) {
    case ConditionKind::equal:
      return "to be ";
    case ConditionKind::not_equal:
      return "not to be ";
    case ConditionKind::at_least:
      return "to reach ";
    case ConditionKind::masked_equal:
      return "to be, masked, ";
  }
  return "";
}

}  // namespace

const char* to_string(OperationKind kind) {
  constexpr const char* names[] = {"load", "store", "atomic", "wait", "fence", "copy", "evict", "pause"};
  return names[static_cast<std::size_t>(kind)];
}

Simulation::Simulation(const Machine& machine, const Shape& shape, std::size_t bytes,
                       const SimOptions& options)
    : machine_(machine),
      shape_(shape),
      options_(options),
      memory_(nullptr),
      bytes_((std::max<std::size_t>(bytes, 1) + arch::stride_bytes - 1) / arch::stride_bytes *
             arch::stride_bytes),
      wheel_(options.shuffle, measure::mix_seed(options.seed, 3)),
      random_(measure::mix_seed(options.seed, 4)),
      coherence_(machine.p, wheel_, options.seed, *this, counters_),
      contexts_(static_cast<std::size_t>(shape.size())),
      core_ranks_(static_cast<std::size_t>(machine.p.cores)),
      core_load_(static_cast<std::size_t>(machine.p.cores)),
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
    c.rank = r;
    c.core = cpu / p.contexts_per_core;
    c.stores.resize(static_cast<std::size_t>(p.store_buffer));
    core_ranks_[static_cast<std::size_t>(c.core)].push_back(r);
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
  counters_.issue_busy.resize(core_ranks_.size());
  if (options.log) {
    log_ = std::make_unique<Log>();
    coherence_.write_log(log_.get());
  }
  if (options.check) coherence_.check_always();
  coherence_.add_lines(bytes_ / arch::line_bytes);
  memory_ = static_cast<unsigned char*>(allocate_strided(bytes_));
  std::memset(memory_, 0, bytes_);
}

Simulation::~Simulation() {
  // Fibers that did not finish are unwound before what they look at goes away.
  for (Context& c : contexts_) c.fiber.reset();
  std::free(memory_);
}

LineId Simulation::line_of(const void* place) const {
  const auto* const byte = static_cast<const unsigned char*>(place);
  if (byte < memory_ || byte >= memory_ + bytes_)
    throw Error("simulation: an address outside the " + std::to_string(bytes_) + " bytes of shared memory");
  return static_cast<LineId>(static_cast<std::size_t>(byte - memory_) / arch::line_bytes);
}

unsigned Simulation::offset_of(const void* place) const {
  return static_cast<unsigned>(static_cast<std::size_t>(static_cast<const unsigned char*>(place) - memory_) %
                               arch::line_bytes);
}

std::uint64_t Simulation::image(const void* place, unsigned bytes) const {
  std::uint64_t value = 0;
  std::memcpy(&value, place, bytes);  // words are little-endian on every host of the simulator
  return value;
}

// --- time and fibers
// ----------------------------------------------------------------------------------------

void Simulation::run(const std::function<void(SimPort&)>& body) {
  body_ = body;
  unfinished_ = shape_.size();
  vain_pauses_ = vain_sleeps_ = 0;
  for (Context& c : contexts_) {
    if (!c.fiber) {
      // The fiber serves all runs: a stack and a start are dearer than a switch.
      c.fiber.reset(new Fiber([this, &c] {
        SimPort port(*this, c.rank);
        for (;;) {
          body_(port);
          --unfinished_;
          note_change();
          c.mode = Mode::finished;
          set_weight(c, 0);
          c.fiber->suspend();
        }
      }));
    }
    const Cycles skew =
        options_.start_skew == 0
            ? 0
            : static_cast<Cycles>(random_.below(static_cast<std::uint64_t>(options_.start_skew)));
    wake_at(c, wheel_.now() + skew);
  }
  while (wheel_.next_time() != EventWheel::never) {
    const Event event = wheel_.pop();
    if (event.kind == EventKind::resume)
      resume(context(static_cast<int>(event.subject)));
    else
      coherence_.handle(event);
    run_ready();
  }
  // The ranks' last instructions end behind the last event.
  for (const Context& c : contexts_) wheel_.advance(c.time);
  counters_.events = wheel_.popped();
  if (unfinished_ != 0) throw_stuck("wait");
  if (options_.check) coherence_.check_at_rest();
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
  c.fiber->resume();
}

void Simulation::suspend(Context& c, Mode mode, int weight) {
  c.mode = mode;
  set_weight(c, weight);
  c.fiber->suspend();
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

/// Brings the clock to the rank's time: whatever happens before comes first.
void Simulation::sync(Context& c) {
  const MachineParameters& p = machine_.p;
  if (c.core == p.os_core && p.os_interval > 0 &&
      c.time >= next_interruption_[static_cast<std::size_t>(c.core)]) {
    c.time += p.os_duration;
    next_interruption_[static_cast<std::size_t>(c.core)] =
        c.time + p.os_interval / 2 +
        static_cast<Cycles>(random_.below(static_cast<std::uint64_t>(p.os_interval)));
  }
  if (c.time <= wheel_.now()) return;
  if (c.time < wheel_.next_time() && ready_.size() <= 1) {
    wheel_.advance(c.time);
    return;
  }
  wake_at(c, c.time);
  c.fiber->suspend();
}

/// How long the core's issue port needs for a context's instructions: no context issues more often than every
/// `issue_interval` cycles, and the contexts that issue take turns.
Cycles Simulation::issue(const Context& c, int instructions) const {
  const int load = core_load_[static_cast<std::size_t>(c.core)];
  const int interval = std::max(machine_.p.issue_interval * full_weight, load);
  return static_cast<Cycles>(instructions) * interval / full_weight;
}

void Simulation::spend(Context& c, int instructions, Cycles least) {
  c.time += std::max(least, issue(c, instructions));
  counters_.issue_busy[static_cast<std::size_t>(c.core)] += instructions;
}

/// From look to look of a rank that waits for a line of its cache, as the core's contexts issue now: while it
/// looks it issues itself.
Cycles Simulation::look_period(const Context& c) const {
  const int load = core_load_[static_cast<std::size_t>(c.core)] - c.weight + full_weight;
  const int interval = std::max(machine_.p.issue_interval * full_weight, load);
  const Cycles instructions = machine_.p.look_instructions;
  return std::max<Cycles>(machine_.p.l1_hit, instructions * interval / full_weight) + pause_;
}

/// The share of the issue port that the context's instructions take. Siblings that look at lines in a loop
/// look more or less often from now on; when they look next stays.
void Simulation::set_weight(Context& c, int weight) {
  if (weight == c.weight) return;
  core_load_[static_cast<std::size_t>(c.core)] += weight - c.weight;
  c.weight = weight;
  for (const int rank : core_ranks_[static_cast<std::size_t>(c.core)]) {
    Context& other = context(rank);
    if (other.mode != Mode::parked || &other == &c) continue;
    const Cycles period = look_period(other);
    if (period == other.look_period) continue;
    pass_looks(other);
    other.look_period = period;
  }
}

/// The looks of a parked rank up to now, which saw nothing new.
void Simulation::pass_looks(Context& c) {
  if (c.next_look >= wheel_.now()) return;
  const Cycles turns = (wheel_.now() - c.next_look + c.look_period - 1) / c.look_period;
  c.next_look += turns * c.look_period;
  counters_.elided_looks += turns;
  counters_.issue_busy[static_cast<std::size_t>(c.core)] += turns * machine_.p.look_instructions;
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
  for (const int rank : core_ranks_[static_cast<std::size_t>(core)]) {
    Context& c = context(rank);
    for (std::size_t i = 1; i < c.store_count; ++i)
      if (store_at(c, i).line == line && store_at(c, i).came) ++counters_.stolen;
  }
  wake_parked(core, line);
}

/// Ranks of the core that look at this line see something new at their next look.
void Simulation::wake_parked(int core, LineId line) {
  for (const int rank : core_ranks_[static_cast<std::size_t>(core)]) {
    Context& c = context(rank);
    if (c.mode != Mode::parked || c.line != line) continue;
    pass_looks(c);
    wake_at(c, c.next_look);
  }
}

// --- reading -----------------------------------------------------------------------------------------------

/// A read of the line at the present time. Memory's image is what the rank sees when this returns.
void Simulation::read_line(Context& c, LineId line) {
  if (coherence_.readable(c.core, line)) {
    train_prefetcher(c, line, false);
    spend(c, machine_.p.look_instructions, coherence_.hit(c.core, line));
    return;
  }
  c.needs = Needs::line;
  c.kind = Request::read;
  c.line = line;
  coherence_.request(Request::read, c.core, c.rank, line);
  train_prefetcher(c, line, true);
  suspend(c, Mode::blocked, 0);
}

/// Two misses on neighbouring lines start a stream; the prefetcher stays a few lines ahead of it.
void Simulation::train_prefetcher(Context& c, LineId line, bool missed) {
  if (machine_.p.prefetcher == Switch::off) return;
  const bool in_stream = c.stream > 0 && (line == c.last_miss || line == c.last_miss + 1);
  if (missed && !in_stream) {
    c.stream = line == c.last_miss + 1 && c.last_miss != UINT32_MAX ? 1 : 0;
    c.stream_end = line + 1;
    c.last_miss = line;
    if (c.stream == 0) return;
  } else if (!in_stream) {
    return;
  }
  c.last_miss = line;
  const LineId end = static_cast<LineId>(
      std::min<std::size_t>(line + 1 + static_cast<LineId>(machine_.p.prefetch_lines), coherence_.lines()));
  for (LineId next = std::max(c.stream_end, line + 1); next < end; ++next)
    if (coherence_.state(c.core, next) == LineState::invalid && !coherence_.asked(c.core, next))
      coherence_.request(Request::prefetch, c.core, -1, next);
  c.stream_end = std::max(c.stream_end, end);
}

/// Something that others may poll for: they do not poll in vain.
void Simulation::note_change() {
  ++changes_;
  vain_pauses_ = vain_sleeps_ = 0;
}

/// A loop of loads that never sees anything new would run for ever: no event ends it.
void Simulation::count_vain(Context& c) {
  if (changes_ != c.changes || c.time < sleeping_until_) {
    c.changes = changes_;
    c.vain_loads = 0;
  }
  if (++c.vain_loads > vain_loads_a_rank) throw_stuck("poll");
}

std::uint64_t Simulation::load(int rank, const void* word, unsigned bytes) {
  std::uint64_t value = 0;
  load_bytes(rank, word, &value, bytes);
  return value;
}

void Simulation::load_bytes(int rank, const void* from, void* destination, std::size_t bytes) {
  Context& c = context(rank);
  sync(c);
  const LineId line = line_of(from);
  const auto count = static_cast<unsigned>(bytes);
  count_vain(c);
  begin_operation(c, OperationKind::load, line);
  const Own own = own_store(c, line, offset_of(from), count, destination);
  if (own == Own::whole) {
    spend(c, machine_.p.look_instructions, machine_.p.l1_hit);
    end_operation(c, Log::none);
    return;
  }
  if (own == Own::part) drain(c);
  read_line(c, line);
  std::memcpy(destination, from, bytes);
  end_operation(c, cause_of(from, count, ~std::uint64_t{0}));
}

/// What the rank itself has stored there and nobody else sees yet; the newest store wins.
Simulation::Own Simulation::own_store(Context& c, LineId line, unsigned offset, unsigned bytes, void* value) {
  for (std::size_t i = c.store_count; i-- > 0;) {
    const Store& s = store_at(c, i);
    if (s.line != line || s.offset >= offset + bytes || offset >= unsigned{s.offset} + s.bytes) continue;
    if (s.offset > offset || unsigned{s.offset} + s.bytes < offset + bytes) return Own::part;
    std::memcpy(value, s.data + (offset - s.offset), bytes);
    return Own::whole;
  }
  return Own::none;
}

// --- writing ---------------------------------------------------------------------------------------------

void Simulation::store(int rank, void* place, const void* value, unsigned bytes, StorePolicy policy) {
  Context& c = context(rank);
  sync(c);
  const LineId line = line_of(place);
  // As the native ports do: what was stored before is visible first, and the store itself before what
  // follows.
  const bool unordered = policy == StorePolicy::no_read_unordered;
  if (unordered) drain_as_fence(c);
  begin_operation(c, OperationKind::store, line);
  spend(c, machine_.p.store_instructions, 0);
  push_store(c, line, offset_of(place), value, bytes, policy != StorePolicy::plain);
  end_operation(c, Log::none);
  if (unordered) drain_as_fence(c);
}

void Simulation::push_store(Context& c, LineId line, unsigned offset, const void* value, unsigned bytes,
                            bool no_read) {
  if (c.store_count == c.stores.size()) {
    c.needs = Needs::buffer_space;
    if (log_) log_->operations[static_cast<std::size_t>(c.operation)].missed = c.time;
    suspend(c, Mode::blocked, 0);
  }
  Store& s = store_at(c, c.store_count++);
  s.line = line;
  s.offset = static_cast<std::uint8_t>(offset);
  s.bytes = static_cast<std::uint8_t>(bytes);
  s.no_read = no_read;
  s.asked = false;
  s.came = false;
  s.operation = c.operation;
  s.transfer = -1;
  std::memcpy(s.data, value, bytes);
  pump_stores(c);
}

/// Stores become visible in program order, each as soon as its line is the core's. The lines of the first few
/// are asked for at once; one that was taken away again before its turn is asked for again.
void Simulation::pump_stores(Context& c) {
  const std::size_t before = c.store_count;
  while (c.store_count != 0 && coherence_.writable(c.core, store_at(c, 0).line)) {
    commit(c, store_at(c, 0));
    c.first_store = (c.first_store + 1) % c.stores.size();
    --c.store_count;
  }
  int under_way = 0;
  for (std::size_t i = 0; i < c.store_count; ++i) under_way += store_at(c, i).asked;
  for (std::size_t i = 0; i < c.store_count && under_way < machine_.p.store_window; ++i) {
    Store& s = store_at(c, i);
    // What came before its turn and was taken away again is asked for again when it is its turn.
    if (s.asked || (s.came && i != 0) || coherence_.writable(c.core, s.line)) continue;
    bool asked_already = false;
    for (std::size_t j = 0; j < i; ++j) asked_already = asked_already || store_at(c, j).line == s.line;
    if (asked_already) continue;
    s.asked = true;
    ++under_way;
    coherence_.request(s.no_read ? Request::write_no_read : Request::write, c.core, c.rank, s.line);
  }
  if (before == c.store_count || c.mode != Mode::blocked) return;
  if (c.needs == Needs::buffer_space || (c.needs == Needs::buffer_empty && c.store_count == 0)) make_ready(c);
}

void Simulation::commit(Context& c, const Store& s) {
  std::memcpy(memory_ + std::size_t{s.line} * arch::line_bytes + s.offset, s.data, s.bytes);
  coherence_.modify(c.core, s.line);
  ++counters_.stores;
  note_change();
  if (log_) {
    OperationRecord& operation = log_->operations[static_cast<std::size_t>(s.operation)];
    operation.visible = wheel_.now();
    operation.transfer = s.transfer;
    log_->wrote(s.line, s.offset, s.bytes, s.operation);
  }
  wake_parked(c.core, s.line);
}

void Simulation::drain_as_fence(Context& c) {
  begin_operation(c, OperationKind::fence, 0);
  drain(c);
  end_operation(c, Log::none);
}

/// Until all the rank's stores are visible.
void Simulation::drain(Context& c) {
  if (c.store_count == 0) return;
  sync(c);
  if (c.store_count == 0) return;
  c.needs = Needs::buffer_empty;
  suspend(c, Mode::blocked, 0);
}

void Simulation::own_line(Context& c, LineId line) {
  while (!coherence_.writable(c.core, line)) {
    c.needs = Needs::line;
    c.kind = Request::write;
    c.line = line;
    coherence_.request(Request::write, c.core, c.rank, line);
    suspend(c, Mode::blocked, 0);
    if (c.position == 0) continue;
    // Contexts of the core that asked together take their turns.
    wake_at(c, wheel_.now() + static_cast<Cycles>(c.position) * std::max(machine_.p.atomic_execute, 1));
    c.fiber->suspend();
  }
}

std::uint64_t Simulation::update(int rank, void* word, unsigned bytes, Update how, std::uint64_t value,
                                 std::uint64_t expected) {
  Context& c = context(rank);
  sync(c);
  const LineId line = line_of(word);
  count_vain(c);
  begin_operation(c, OperationKind::atomic, line);
  drain(c);
  const bool here = coherence_.writable(c.core, line);
  own_line(c, line);
  const std::uint64_t before = image(word, bytes);
  std::uint64_t after = value;
  if (how == Update::add) after = before + value;
  if (how == Update::bit_or) after = before | value;
  const int cause = cause_of(word, bytes, ~std::uint64_t{0});
  if (how != Update::compare_exchange || before == expected) {
    if (std::memcmp(word, &after, bytes) != 0) note_change();  // who polls by atomics changes nothing
    std::memcpy(word, &after, bytes);
    coherence_.modify(c.core, line);
    if (log_) {
      log_->operations[static_cast<std::size_t>(c.operation)].visible = wheel_.now();
      log_->wrote(line, offset_of(word), bytes, c.operation);
    }
    wake_parked(c.core, line);
  }
  ++counters_.atomics;
  spend(c, machine_.p.look_instructions, here ? machine_.p.atomic_hit : machine_.p.atomic_execute);
  end_operation(c, cause);
  return before;
}

void Simulation::fence(int rank) {
  Context& c = context(rank);
  sync(c);
  begin_operation(c, OperationKind::fence, 0);
  drain(c);
  spend(c, machine_.p.store_instructions, machine_.p.atomic_hit);  // a locked update of the rank's own stack
  end_operation(c, Log::none);
}

void Simulation::copy(int rank, void* destination, const void* source, std::size_t bytes) {
  Context& c = context(rank);
  sync(c);
  if (bytes == 0) return;
  auto* to = static_cast<unsigned char*>(destination);
  const auto* from = static_cast<const unsigned char*>(source);
  line_of(to + bytes - 1);
  line_of(from + bytes - 1);
  begin_operation(c, OperationKind::copy, line_of(to));
  while (bytes != 0) {
    const std::size_t piece =
        std::min(bytes, arch::line_bytes - std::max<std::size_t>(offset_of(from), offset_of(to)));
    unsigned char data[arch::line_bytes];
    const LineId line = line_of(from);
    const Own own = own_store(c, line, offset_of(from), static_cast<unsigned>(piece), data);
    if (own != Own::whole) {
      if (own == Own::part) drain(c);
      sync(c);
      read_line(c, line);
      std::memcpy(data, from, piece);
    }
    sync(c);
    spend(c, machine_.p.store_instructions, 0);
    push_store(c, line_of(to), offset_of(to), data, static_cast<unsigned>(piece), false);
    from += piece;
    to += piece;
    bytes -= piece;
  }
  end_operation(c, Log::none);
}

void Simulation::prefetch(int rank, const void* place) {
  Context& c = context(rank);
  sync(c);
  const LineId line = line_of(place);
  spend(c, 1, 0);
  if (coherence_.state(c.core, line) == LineState::invalid && !coherence_.asked(c.core, line))
    coherence_.request(Request::prefetch, c.core, -1, line);
}

void Simulation::evict(int rank, const void* place) {
  Context& c = context(rank);
  sync(c);
  const LineId line = line_of(place);
  begin_operation(c, OperationKind::evict, line);
  drain(c);
  spend(c, machine_.p.store_instructions, 0);
  coherence_.request(Request::evict, c.core, -1, line);
  end_operation(c, Log::none);
}

// --- waiting ---------------------------------------------------------------------------------------------

bool Simulation::holds(const Awaited& a, std::uint64_t& seen) const {
  if (a.whole_line) {
    const auto* const bytes = static_cast<const unsigned char*>(a.place);
    for (unsigned b = 0; b < arch::line_bytes; ++b)
      if ((a.mask >> b & 1) != 0 && bytes[b] != static_cast<unsigned char>(a.value)) return false;
    return true;
  }
  seen = image(a.place, a.bytes);
  switch (a.bytes) {
    case 1:
      return word_holds<std::uint8_t>(a, seen);
    case 2:
      return word_holds<std::uint16_t>(a, seen);
    case 4:
      return word_holds<std::uint32_t>(a, seen);
    default:
      return word_holds<std::uint64_t>(a, seen);
  }
}

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
  // A change in the very cycle of a look is seen by it.
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
  std::uint64_t seen = 0;
  for (;;) {
    ++counters_.looks;
    unsigned char own[arch::line_bytes];
    const unsigned width = a.whole_line ? static_cast<unsigned>(arch::line_bytes) : a.bytes;
    if (c.store_count != 0 && own_store(c, line, offset_of(a.place), width, own) != Own::none) drain(c);
    if (operation >= 0) log_->operations[static_cast<std::size_t>(operation)].missed = wheel_.now();
    read_line(c, line);
    if (holds(a, seen)) break;
    if (coherence_.readable(c.core, line)) {
      look_again(c, line);
    } else {
      c.time += pause_;
      sync(c);
    }
  }
  c.awaited = nullptr;
  end_operation(c, cause_of(a.place, a.whole_line ? 0 : a.bytes, a.mask));
  return seen;
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
  // Who polls by the clock is found too: it excuses those that poll meanwhile for so many turns only.
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

// --- the log, and the end of all waiting -------------------------------------------------------------------

int Simulation::begin_operation(Context& c, OperationKind kind, LineId line) {
  if (!log_) return -1;
  c.operation = static_cast<int>(log_->operations.size());
  c.transfer = -1;
  log_->operations.push_back(OperationRecord{kind, c.rank, line, c.time, -1, -1, -1, -1, Log::none});
  return c.operation;
}

void Simulation::end_operation(Context& c, int cause) {
  if (!log_) return;
  OperationRecord& operation = log_->operations[static_cast<std::size_t>(c.operation)];
  operation.ended = c.time;
  if (operation.transfer < 0) operation.transfer = c.transfer;
  operation.cause = cause;
}

/// The operation that wrote what lies there, of several the one whose write became visible last. `bytes` of
/// 0: the bytes of the line that `mask` names.
int Simulation::cause_of(const void* place, unsigned bytes, std::uint64_t mask) const {
  if (!log_) return Log::none;
  const LineId line = line_of(place);
  const unsigned offset = offset_of(place);
  int last = Log::none;
  for (unsigned b = 0; b < (bytes == 0 ? arch::line_bytes : bytes); ++b) {
    if (bytes == 0 && (mask >> b & 1) == 0) continue;
    const int writer = log_->writer(line, bytes == 0 ? b : offset + b, 1);
    if (writer < 0) continue;
    if (last < 0 || log_->operations[static_cast<std::size_t>(writer)].visible >
                        log_->operations[static_cast<std::size_t>(last)].visible)
      last = writer;
  }
  return last;
}

void Simulation::mark(int rank, MarkKind kind, int episode) {
  if (log_) log_->marks.push_back(MarkRecord{kind, rank, episode, ticks(rank)});
}

void Simulation::throw_stuck(const char* what) const {
  std::string text;
  int listed = 0;
  for (const Context& c : contexts_) {
    if (c.mode == Mode::finished || listed == 8) continue;
    ++listed;
    text += (text.empty() ? "" : "; ") + std::string("rank ") + std::to_string(c.rank) + " (core " +
            std::to_string(c.core) + ")";
    if (c.awaited == nullptr) {
      if (c.mode != Mode::blocked)
        text += " polls";
      else if (c.needs == Needs::line)
        text += " needs line " + std::to_string(c.line);
      else
        text += " has stores that wait for line " + std::to_string(c.stores[c.first_store].line);
      continue;
    }
    const Awaited& a = *c.awaited;
    const auto byte = static_cast<const unsigned char*>(a.place) - memory_;
    text += " waits for line " + std::to_string(line_of(a.place)) + ", byte " + std::to_string(byte);
    if (a.whole_line)
      text += ", whole";
    else
      text += ", which is " + std::to_string(image(a.place, a.bytes)) + ", " + words_of(a.kind) +
              std::to_string(a.value);
  }
  if (unfinished_ > listed) text += "; and " + std::to_string(unfinished_ - listed) + " more";
  throw DeadlockError("simulation: " + std::to_string(unfinished_) + " of " + std::to_string(shape_.size()) +
                      " ranks " + what + " for ever, at cycle " + std::to_string(wheel_.now()) + " on " +
                      machine_.name + ": " + text);
}

}  // namespace sim
}  // namespace phicoll
