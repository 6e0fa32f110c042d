// The operations of a rank that touch memory: reading, storing through the store buffer, updating, copying.

#include "phicoll/sim/engine/simulation.hpp"

#include <algorithm>
#include <cstring>

#include "phicoll/arch/arch.hpp"

namespace phicoll {
namespace sim {

namespace {

// A rank that polls without pause() for something that never comes is found by this many loads.
constexpr std::int64_t vain_loads_a_rank = 4000000;

/// Up to a line: mostly a word or a whole line, for which no call is needed.
inline void copy_bytes(void* to, const void* from, std::size_t bytes) {
  if (bytes == 8)
    std::memcpy(to, from, 8);
  else if (bytes == arch::line_bytes)
    std::memcpy(to, from, arch::line_bytes);
  else
    std::memcpy(to, from, bytes);
}

}  // namespace

// --- reading -----------------------------------------------------------------------------------------------

/// A read of the line at the present time. Memory's image is what the rank sees when this returns.
void Simulation::read_line(Context& c, LineId line, int stream) {
  if (!reads_at_once(c, line, stream)) c.fiber.suspend();
}

/// The same, but returns false if the rank rests until the line has come.
bool Simulation::reads_at_once(Context& c, LineId line, int stream) {
  if (coherence_.readable(c.core, line)) {
    train_prefetcher(c, line, false, stream);
    spend(c, machine_.p.look_instructions, coherence_.hit(c.core, line));
    return true;
  }
  c.needs = Needs::line;
  c.kind = Request::read;
  c.line = line;
  coherence_.request(Request::read, c.core, c.rank, line);
  train_prefetcher(c, line, true, stream);
  rest(c, Mode::blocked, 0);
  return false;
}

/// Two misses on neighbouring lines start a stream; the prefetcher stays a few lines ahead of it.
void Simulation::prefetch_stream(Context& c, LineId line, bool missed, int which) {
  if (machine_.p.prefetcher == Switch::off) return;
  Stream& s = c.streams[which];
  const bool in_stream = s.length > 0 && (line == s.last_miss || line == s.last_miss + 1);
  if (missed && !in_stream) {
    s.length = line == s.last_miss + 1 && s.last_miss != UINT32_MAX ? 1 : 0;
    s.end = line + 1;
    s.last_miss = line;
    if (s.length == 0) return;
  } else if (!in_stream) {
    return;
  }
  s.last_miss = line;
  const LineId end = static_cast<LineId>(
      std::min<std::size_t>(line + 1 + static_cast<LineId>(machine_.p.prefetch_lines), coherence_.lines()));
  for (LineId next = std::max(s.end, line + 1); next < end; ++next)
    if (coherence_.state(c.core, next) == LineState::invalid && !coherence_.asked(c.core, next))
      coherence_.request(Request::prefetch, c.core, -1, next);
  s.end = std::max(s.end, end);
}

/// A change that others may poll for, so they do not poll in vain.
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
  if (local_) {
    Context& c = context(rank);
    local_load(c, static_cast<const unsigned char*>(word), reinterpret_cast<unsigned char*>(&value), bytes,
               true);
    heard(c, word, bytes);
  } else {
    load_bytes(rank, word, &value, bytes);
  }
  return value;
}

void Simulation::load_bytes(int rank, const void* from, void* destination, std::size_t bytes) {
  read_part(context(rank), from, destination, bytes, 0);
}

/// A load of bytes of one line; `stream` is the prefetcher's that it belongs to.
void Simulation::read_part(Context& c, const void* from, void* destination, std::size_t bytes, int stream) {
  if (local_)
    return local_load(c, static_cast<const unsigned char*>(from), static_cast<unsigned char*>(destination),
                      bytes, false);
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
  read_line(c, line, stream);
  if (!ghost(from)) std::memcpy(destination, from, bytes);
  end_operation(c, cause_of(from, count, ~std::uint64_t{0}));
}

/// The rank's own stores there that no other rank sees yet; the newest store wins.
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

void Simulation::store(int rank, void* place, const void* value, unsigned bytes, StorePolicy policy,
                       Order order) {
  Context& c = context(rank);
  if (local_) return local_store(c, static_cast<unsigned char*>(place), value, bytes, order, false);
  settle(c);
  const LineId line = line_of(place);
  const bool no_read = policy != StorePolicy::plain;
  const bool unordered = policy == StorePolicy::no_read_unordered;
  if (!reaches_its_time(c)) {
    if (!unordered && c.store_count != store_places()) {
      fill_store(c, line, offset_of(place), value, bytes, no_read);
      c.step = Step::store;
      return;
    }
    c.fiber.suspend();
  }
  // As the native ports do: what was stored before is visible first, and the store itself before what
  // follows.
  if (unordered) drain_as_fence(c);
  begin_operation(c, OperationKind::store, line);
  spend(c, machine_.p.store_instructions, 0);
  push_store(c, line, offset_of(place), value, bytes, no_read);
  end_operation(c, Log::none);
  if (unordered) drain_as_fence(c);
}

/// Makes the store that store() kept.
void Simulation::make_store(Context& c) {
  begin_operation(c, OperationKind::store, store_at(c, c.store_count).line);
  spend(c, machine_.p.store_instructions, 0);
  enter_store(c);
  end_operation(c, Log::none);
}

void Simulation::push_store(Context& c, LineId line, unsigned offset, const void* value, unsigned bytes,
                            bool no_read) {
  if (c.store_count == store_places()) {
    c.needs = Needs::buffer_space;
    if (log_) log_->operations[static_cast<std::size_t>(c.operation)].missed = c.time;
    suspend(c, Mode::blocked, 0);
  }
  fill_store(c, line, offset, value, bytes, no_read);
  enter_store(c);
}

/// Writes a store into the first free place of the buffer.
void Simulation::fill_store(Context& c, LineId line, unsigned offset, const void* value, unsigned bytes,
                            bool no_read) {
  Store& s = store_at(c, c.store_count);
  s.line = line;
  s.offset = static_cast<std::uint8_t>(offset);
  s.bytes = static_cast<std::uint8_t>(bytes);
  s.no_read = no_read;
  s.asked = false;
  s.came = false;
  s.transfer = -1;
  copy_bytes(s.data, value, bytes);
}

/// Makes what fill_store() wrote the newest store of the buffer.
void Simulation::enter_store(Context& c) {
  store_at(c, c.store_count++).operation = c.operation;
  note_several_stores(c);
  pump_stores(c);
}

/// Stores become visible in program order, each as soon as its line is the core's. The lines of the first few
/// are asked for at once; one that was taken away again before its turn is asked for again.
void Simulation::pump_stores(Context& c) {
  const std::size_t before = c.store_count;
  while (c.store_count != 0 && coherence_.writable(c.core, store_at(c, 0).line)) {
    commit(c, store_at(c, 0));
    // An empty ring begins anew: its first places are in the host's cache. But a store that is to come is
    // there already.
    const bool anew = --c.store_count == 0 && c.step != Step::store;
    c.first_store = anew || c.first_store + 1 == store_places() ? 0 : c.first_store + 1;
  }
  if (c.store_count != before) note_several_stores(c);
  if (c.store_count != 0) ask_for_stores(c);
  if (before == c.store_count || c.mode != Mode::blocked) return;
  if (c.needs == Needs::buffer_space || (c.needs == Needs::buffer_empty && c.store_count == 0)) make_ready(c);
}

/// Asks for the lines of the first stores, none of which can be made yet.
void Simulation::ask_for_stores(Context& c) {
  const auto ask = [&](Store& s) {
    s.asked = true;
    coherence_.request(s.no_read ? Request::write_no_read : Request::write, c.core, c.rank, s.line);
  };
  if (c.store_count == 1) {
    if (!store_at(c, 0).asked) ask(store_at(c, 0));
    return;
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
    ++under_way;
    ask(s);
  }
}

void Simulation::commit(Context& c, const Store& s) {
  unsigned char* const place = memory_ + std::size_t{s.line} * arch::line_bytes + s.offset;
  if (!ghost(place)) copy_bytes(place, s.data, s.bytes);
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

/// Waits until all the rank's stores are visible.
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
    c.fiber.suspend();
  }
}

std::uint64_t Simulation::update(int rank, void* word, unsigned bytes, Update how, std::uint64_t value,
                                 std::uint64_t expected) {
  Context& c = context(rank);
  if (local_) return local_update(c, static_cast<unsigned char*>(word), bytes, how, value, expected);
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
    if (std::memcmp(word, &after, bytes) != 0) note_change();  // polling by atomics changes nothing
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
  if (local_) {
    finish_commands(c, nullptr, 0);
    return end_operation(c, Log::none);
  }
  drain(c);
  spend(c, machine_.p.store_instructions, machine_.p.atomic_hit);  // a locked update of the rank's own stack
  end_operation(c, Log::none);
}

void Simulation::copy(int rank, void* destination, const void* source, std::size_t bytes, Stores stores) {
  Context& c = context(rank);
  sync(c);
  if (bytes == 0) return;
  auto* to = static_cast<unsigned char*>(destination);
  const auto* from = static_cast<const unsigned char*>(source);
  line_of(to + bytes - 1);
  line_of(from + bytes - 1);
  if (local_) return local_copy(c, to, from, bytes);
  // Of a copy of several lines the first that miss do not overlap: nothing has run ahead of them yet.
  int serial = line_of(to) == line_of(to + bytes - 1) ? 0 : machine_.p.copy_serial;
  bool started = serial == 0;
  // In the log each piece is a load and a store.
  while (bytes != 0) {
    const std::size_t piece =
        std::min(bytes, arch::line_bytes - std::max<std::size_t>(offset_of(from), offset_of(to)));
    unsigned char data[arch::line_bytes] = {};
    const LineId line = line_of(from);
    const auto count = static_cast<unsigned>(piece);
    begin_operation(c, OperationKind::load, line);
    const Own own = own_store(c, line, offset_of(from), count, data);
    const bool waits = serial > 0 && !(coherence_.writable(c.core, line_of(to)) &&
                                       (own == Own::whole || coherence_.readable(c.core, line)));
    if (own != Own::whole) {
      if (own == Own::part) drain(c);
      if (waits && !started) spend(c, 0, machine_.p.copy_start);
      started = started || waits;
      sync(c);
      read_line(c, line, 0);
      if (!ghost(from)) std::memcpy(data, from, piece);
    }
    sync(c);
    end_operation(c, own == Own::whole ? Log::none : cause_of(from, count, ~std::uint64_t{0}));
    begin_operation(c, OperationKind::store, line_of(to));
    spend(c, machine_.p.store_instructions, 0);
    push_store(c, line_of(to), offset_of(to), data, count,
               stores == Stores::streaming && piece == arch::line_bytes);
    end_operation(c, Log::none);
    if (waits) {
      drain(c);
      --serial;
    }
    from += piece;
    to += piece;
    bytes -= piece;
  }
}

void Simulation::prefetch(int rank, const void* place) {
  Context& c = context(rank);
  if (local_) return;
  sync(c);
  const LineId line = line_of(place);
  spend(c, 1, 0);
  if (coherence_.state(c.core, line) == LineState::invalid && !coherence_.asked(c.core, line))
    coherence_.request(Request::prefetch, c.core, -1, line);
}

void Simulation::evict(int rank, const void* place) {
  Context& c = context(rank);
  if (local_) return;
  sync(c);
  const LineId line = line_of(place);
  begin_operation(c, OperationKind::evict, line);
  drain(c);
  spend(c, machine_.p.store_instructions, 0);
  coherence_.request(Request::evict, c.core, -1, line);
  end_operation(c, Log::none);
}

}  // namespace sim
}  // namespace phicoll
