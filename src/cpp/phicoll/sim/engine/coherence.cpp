#include "phicoll/sim/engine/coherence.hpp"

#include <algorithm>
#include <cstring>

#include "phicoll/errors.hpp"

namespace phicoll {
namespace sim {

const char* to_string(Request kind) {
  constexpr const char* names[] = {"read", "prefetch", "write", "no-read write", "evict", "get", "put"};
  return names[static_cast<std::size_t>(kind)];
}

char letter(LineState state) {
  return "ISEML"[static_cast<std::size_t>(state)];
}

int CoreSet::lowest_but(int core) const {
  CoreSet others = *this;
  if (core >= 0) others.remove(core);
  for (int word = 0; word < max_cores / 64; ++word)
    if (others.bits[word] != 0) return word * 64 + __builtin_ctzll(others.bits[word]);
  return -1;
}

Coherence::Coherence(const MachineParameters& parameters, EventWheel& wheel, std::uint64_t seed,
                     CoherenceListener& listener, Counters& counters)
    : p_(parameters),
      ring_(parameters),
      wheel_(wheel),
      listener_(listener),
      counters_(counters),
      random_(mix_seed(seed, 1)),
      seed_(seed),
      cores_(static_cast<std::size_t>(parameters.cores)),
      directories_(static_cast<std::size_t>(std::max(parameters.directories, 1))),
      channels_(static_cast<std::size_t>(
          std::max(parameters.memory_controllers * parameters.channels_per_controller, 1))) {
  const auto packages = static_cast<std::size_t>(p_.packages);
  l3_out_free_.resize(packages * static_cast<std::size_t>(p_.l3_per_package));
  l3_in_free_.resize(l3_out_free_.size());
  package_out_free_.resize(packages);
}

void Coherence::add_lines(std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    Line line;
    const std::uint64_t hash = mix_seed(seed_, 2, lines_.size());
    line.home = static_cast<std::uint16_t>((hash & 0xffffffff) % directories_.size());
    line.channel = static_cast<std::uint16_t>((hash >> 32) % channels_.size());
    lines_.push_back(line);
  }
  while ((1 << state_shift_) < p_.cores) ++state_shift_;
  states_.resize(lines_.size() << state_shift_);
  // Lines are numbered one after another, so a cache's sets fill evenly and none overflows before all do.
  capacity_matters_ = lines_.size() > static_cast<std::size_t>(p_.l1_kib) * 1024 / arch::line_bytes;
  l2_matters_ = lines_.size() > static_cast<std::size_t>(p_.l2_kib) * 1024 / arch::line_bytes;
  if (capacity_matters_) l1_.assign(cores_.size(), CoreTags(p_.l1_kib, p_.l1_ways));
  if (l2_matters_) l2_.assign(cores_.size(), CoreTags(p_.l2_kib, p_.l2_ways));
}

void Coherence::watch_state(int core, LineId line, LineState from, LineState to) {
  if (from == to) return;
  if (log_)
    log_->states.push_back(StateRecord{wheel_.now(), line, static_cast<std::int16_t>(core), from, to});
  if (checking_) check(line);
}

Cycles Coherence::jitter() {
  return p_.jitter == 0 ? 0 : static_cast<Cycles>(random_.below(static_cast<std::uint64_t>(p_.jitter) + 1));
}

void Coherence::count_services(Counters& counters) const {
  for (const Server& directory : directories_) counters.directories.push_back(directory.count);
  for (const Core& core : cores_) counters.caches.push_back(core.cache.count);
  for (const Server& channel : channels_) counters.channels.push_back(channel.count);
}

// --- the requester ---------------------------------------------------------------------------------------

std::uint32_t Coherence::make(Request kind, int from, int rank, LineId line) {
  std::uint32_t t = free_;
  if (t == none) {
    t = static_cast<std::uint32_t>(transactions_.size());
    transactions_.emplace_back();
  } else {
    free_ = transactions_[t].next;
  }
  Transaction& made = transactions_[t];
  made = Transaction{};
  made.line = line;
  made.next = none;
  made.core = static_cast<std::int16_t>(from);
  made.responder = -1;
  made.kind = kind;
  made.data = made.go = -1;
  if (rank >= 0) made.rank[made.ranks++] = static_cast<std::int16_t>(rank);
  if (log_) {
    if (steps_.size() < transactions_.size()) steps_.resize(transactions_.size());
    steps_[t] = Steps{};
    steps_[t].issued = wheel_.now();
  }
  // Nothing joins or waits for an eviction, and a full cache makes many: they are not in the core's list.
  if (kind != Request::evict) {
    core(from).under_way.push_back(UnderWay{line, t});
    count_asked(from, line, one_asked);
  }
  ++counters_.requests[static_cast<std::size_t>(kind)];
  return t;
}

void Coherence::request(Request kind, int core, int rank, LineId line) {
  Core& own = cores_[static_cast<std::size_t>(core)];
  const bool may_join = kind != Request::evict && asked(core, line);
  for (std::size_t way = may_join ? own.under_way.size() : 0; way-- > 0;) {
    if (own.under_way[way].line != line) continue;
    Transaction& other = at(own.under_way[way].t);
    // A read joins a prefetch whatever the machine merges: the prefetch waits in the same cache.
    const bool joins =
        is_read(kind)
            ? other.kind == Request::prefetch || (other.kind == Request::read && p_.merge_reads == Switch::on)
        : is_write(kind) ? (other.kind == kind || (other.kind == Request::write && is_write(kind))) &&
                               p_.merge_writes == Switch::on
                         : false;
    if (!joins || other.filled) continue;
    if (rank >= 0) {
      if (other.ranks == max_contexts_per_core) continue;
      for (int i = 0; i < other.ranks; ++i)
        if (other.rank[i] == rank) return;
      other.rank[other.ranks++] = static_cast<std::int16_t>(rank);
    }
    ++counters_.merged;
    return;
  }
  // A line that the core is asking for is not given up: it would come back at once, and the directory would
  // have to tell the two apart.
  if (kind == Request::evict && (!readable(core, line) || asked(core, line))) return;
  const std::uint32_t t = make(kind, core, rank, line);
  if (kind == Request::evict) {
    // From now on the core does not have the line; its contents stay in the image until the directory agrees.
    set_state(core, line, LineState::leaving);
    forget(core, line);
    listener_.taken(core, line);
    launch(t);
    return;
  }
  if (state(core, line) == LineState::leaving || own.outstanding >= p_.core_window) {
    at(t).held_back = true;
    ++own.held_back;
    return;
  }
  launch(t);
}

void Coherence::launch(std::uint32_t t) {
  Transaction& x = at(t);
  Line& line = lines_[x.line];
  if (log_) steps_[t].sent = wheel_.now();
  if (x.kind != Request::evict) ++core(x.core).outstanding;
  if (p_.near_directories == Switch::on && !line.homed) {
    line.homed = true;
    line.home = static_cast<std::uint16_t>(static_cast<std::size_t>(x.core) % directories_.size());
  }
  if (p_.protocol == Protocol::table) {
    wheel_.push(wheel_.now() + p_.miss + jitter(), EventKind::start, t);
    return;
  }
  const Cycles trip = ring_.send(counters_.request_ring, ring_.core(x.core), ring_.directory(line.home));
  wheel_.push(wheel_.now() + p_.miss + jitter() + trip, EventKind::request, t);
}

/// The transaction is no longer under way at its core.
void Coherence::leave_core(std::uint32_t t) {
  count_asked(at(t).core, at(t).line, -one_asked);
  std::vector<UnderWay>& under_way = core(at(t).core).under_way;
  UnderWay* place = under_way.data();
  while (place->t != t) ++place;
  for (const UnderWay* const last = &under_way.back(); place != last; ++place) place[0] = place[1];
  under_way.pop_back();
}

// --- the directory ---------------------------------------------------------------------------------------

void Coherence::arrive(std::uint32_t t) {
  Transaction& x = at(t);
  const std::size_t home = lines_[x.line].home;
  if (log_) steps_[t].arrived = wheel_.now();
  const Cycles start = directories_[home].serve(wheel_.now(), p_.directory_service);
  if (start > wheel_.now())
    wheel_.push(start, EventKind::start, t);
  else
    take_up(t);
}

void Coherence::take_up(std::uint32_t t) {
  Transaction& x = at(t);
  if (log_) {
    Steps& s = steps_[t];
    if (s.arrived < 0) s.arrived = wheel_.now();
    s.taken_up = wheel_.now();
    for (std::uint32_t before = lines_[x.line].waiting; before != none; before = at(before).next) ++s.ahead;
  }
  const Line& line = lines_[x.line];
  if (line.waiting == none && !line.busy && line.fetching == 0) return begin(t);
  queue(t);
  pump(x.line);
}

void Coherence::queue(std::uint32_t t) {
  Line& line = lines_[at(t).line];
  at(t).next = none;
  (line.waiting == none ? line.waiting : at(line.last).next) = t;
  line.last = t;
}

/// Begins the requests of a line that can begin, in their order.
void Coherence::pump(LineId id) {
  Line& line = lines_[id];
  while (line.waiting != none && !line.busy) {
    const std::uint32_t t = line.waiting;
    // A line that is on its way from memory can only be read, and not if its reader got it exclusively.
    if (line.fetching > 0 && (!is_read(at(t).kind) || line.alone)) return;
    line.waiting = at(t).next;
    begin(t);
  }
}

void Coherence::begin(std::uint32_t t) {
  Transaction& x = at(t);
  if (log_ && steps_[t].begun < 0) steps_[t].begun = wheel_.now();
  if (p_.protocol == Protocol::table) return begin_table(t);
  const Cycles from = wheel_.now() + p_.directory_latency;
  if (is_read(x.kind)) return begin_read(t, from);
  if (is_write(x.kind)) return begin_write(t, from);
  begin_evict(t, from);
}

/// Which cache answers a read by `core`: the owner; or the sharer nearest to the requester.
int Coherence::responder(const Line& line, int core) const {
  if (p_.responder == Responder::nearest) {
    int best = -1;
    Cycles least = EventWheel::never;
    RingCount uncounted;
    line.sharers.each([&](int sharer) {
      const Cycles trip = ring_.send(uncounted, ring_.core(sharer), ring_.core(core));
      if (sharer == core || trip >= least) return;
      least = trip;
      best = sharer;
    });
    if (best >= 0) return best;
  }
  if (line.owner >= 0 && line.owner != core) return line.owner;
  int other = -1;
  line.sharers.each([&](int sharer) {
    if (sharer != core && other < 0) other = sharer;
  });
  return other >= 0 ? other : core;
}

void Coherence::fetch(std::uint32_t t, Cycles from) {
  Transaction& x = at(t);
  Line& line = lines_[x.line];
  const std::size_t channel = line.channel;
  const int stop = ring_.memory(static_cast<int>(channel) / p_.channels_per_controller);
  const Cycles there = from + ring_.send(counters_.request_ring, ring_.directory(line.home), stop);
  const Cycles start = channels_[channel].serve(std::max(there, line.memory_free), p_.memory_channel);
  line.memory_free = start + p_.memory_same_line;
  if (log_) {
    Steps& s = steps_[t];
    if (from > s.begun + p_.directory_latency + p_.upgrade) s.resumed = from - p_.directory_latency;
    s.directed = from;
    s.asked = there;
    s.answered = start;
    s.replied = start + p_.memory_latency;
  }
  x.source = Source::memory;
  x.data = start + p_.memory_latency + ring_.send(counters_.data_ring, stop, ring_.core(x.core));
  x.due = fill_time(x, x.data);
  wheel_.push(x.due, fill_event(x.kind), t);
}

void Coherence::begin_read(std::uint32_t t, Cycles from) {
  Transaction& x = at(t);
  Line& line = lines_[x.line];
  // Once deferred reads are being fetched, requests that come meanwhile are fetched with them.
  if (line.sharers.empty() || line.joining ||
      (p_.responder == Responder::memory && !line.dirty && !line.owned)) {
    if (line.fetching > 0 && !line.joining && p_.memory_fill == MemoryFill::defer) {
      x.next = line.deferred;
      line.deferred = t;
      return;
    }
    ++line.fetching;
    x.ordered = true;
    return fetch(t, from);
  }
  line.busy = true;
  const int from_core = responder(line, x.core);
  x.responder = static_cast<std::int16_t>(from_core);
  x.source = Source::cache;
  const Cycles trip = ring_.send(counters_.request_ring, ring_.directory(line.home), ring_.core(from_core));
  wheel_.push(from + trip, EventKind::forward, t, static_cast<std::uint16_t>(from_core));
}

void Coherence::begin_write(std::uint32_t t, Cycles from) {
  Transaction& x = at(t);
  Line& line = lines_[x.line];
  line.busy = true;
  x.upgrade = line.sharers.has(x.core);
  const bool needs_data = x.kind == Request::write && !x.upgrade;
  if (x.upgrade) {
    ++counters_.upgrades;
    if (x.kind == Request::write) from += p_.upgrade;
  }
  // The cache that sends the data is asked first, then the others, one after the other.
  const int first = line.owner >= 0 && line.owner != x.core ? line.owner : line.sharers.lowest_but(x.core);
  if (first < 0) {
    line.sharers = CoreSet();
    line.sharers.add(x.core);
    line.owner = x.core;
    line.dirty = true;
    line.owned = true;
    x.ordered = true;
    if (needs_data) return fetch(t, from);
    if (log_) steps_[t].directed = from;
    x.go = from + ring_.send(counters_.acknowledge_ring, ring_.directory(line.home), ring_.core(x.core));
    x.due = fill_time(x, x.go);
    wheel_.push(x.due, EventKind::fill_write, t);
    return;
  }
  if (needs_data) {
    x.responder = static_cast<std::int16_t>(first);
    x.source = Source::cache;
  }
  const auto ask = [&](int core) {
    const Cycles trip = ring_.send(counters_.request_ring, ring_.directory(line.home), ring_.core(core));
    wheel_.push(from + p_.invalidate_each * x.pending + trip, EventKind::invalidate, t,
                static_cast<std::uint16_t>(core));
    ++x.pending;
  };
  ask(first);
  CoreSet others = line.sharers;
  others.remove(first);
  others.remove(x.core);
  if (!others.empty()) others.each(ask);
  x.invalidated = x.pending;
}

void Coherence::begin_evict(std::uint32_t t, Cycles from) {
  Transaction& x = at(t);
  Line& line = lines_[x.line];
  if (line.sharers.has(x.core)) {
    line.sharers.remove(x.core);
    if (line.owner == x.core) {
      if (line.dirty) {
        const std::size_t channel = line.channel;
        const int stop = ring_.memory(static_cast<int>(channel) / p_.channels_per_controller);
        const Cycles there = from + ring_.send(counters_.data_ring, ring_.core(x.core), stop);
        channels_[channel].serve(there, p_.memory_channel);
        ++counters_.write_backs;
        line.dirty = false;
      }
      line.owned = false;
      line.owner = static_cast<std::int16_t>(line.sharers.lowest());
    }
  }
  x.go = from + ring_.send(counters_.acknowledge_ring, ring_.directory(line.home), ring_.core(x.core));
  wheel_.push(x.go, EventKind::fill, t);
}

// --- the caches that are asked ----------------------------------------------------------------------------

void Coherence::forwarded(std::uint32_t t, int to) {
  const Cycles start = core(to).cache.serve(wheel_.now(), p_.owner_service);
  if (log_) note_asked(t, to, start);
  if (start > wheel_.now())
    wheel_.push(start, EventKind::answer, t, static_cast<std::uint16_t>(to));
  else
    answer(t, to);
}

void Coherence::answer(std::uint32_t t, int core) {
  if (still_coming(t, core, EventKind::answer)) return;
  Transaction& x = at(t);
  const Line& line = lines_[x.line];
  // From here on the core no longer writes without asking. A core that asks itself keeps what it has.
  if (core != x.core && writable(core, x.line)) set_state(core, x.line, LineState::shared);
  if (p_.protocol == Protocol::table) return;
  const Cycles sent = wheel_.now() + p_.owner_latency;
  x.data = sent + ring_.send(counters_.data_ring, ring_.core(core), ring_.core(x.core));
  const Cycles told =
      sent + ring_.send(counters_.acknowledge_ring, ring_.core(core), ring_.directory(line.home));
  wheel_.push(told + p_.acknowledge, EventKind::acknowledged, t);
  if (p_.completion == Completion::data) {
    x.ordered = true;
    wheel_.push(x.data + p_.fill, EventKind::fill, t);
  }
}

void Coherence::invalidate(std::uint32_t t, int at_core) {
  const Cycles service = at_core == at(t).responder ? p_.owner_service : p_.invalidate_each;
  const Cycles start = core(at_core).cache.serve(wheel_.now(), service);
  if (log_) note_asked(t, at_core, start);
  if (start > wheel_.now())
    wheel_.push(start, EventKind::give_up, t, static_cast<std::uint16_t>(at_core));
  else
    give_up(t, at_core);
}

/// Where a directory passes a line on before its new owner has it: the owner gives it up once it has come.
bool Coherence::still_coming(std::uint32_t t, int to, EventKind again) {
  if (p_.write_unlock == Unlock::requester) return false;
  const std::vector<UnderWay>& under_way = core(to).under_way;
  for (std::size_t i = under_way.size(); i-- > 0;) {
    const Transaction& x = at(under_way[i].t);
    if (x.line != at(t).line || !is_write(x.kind) || !x.ordered || x.filled || under_way[i].t == t) continue;
    wheel_.push(x.due + 1, again, t, static_cast<std::uint16_t>(to));
    return true;
  }
  return false;
}

/// A store of a whole line waits for permission, not for data, so nothing is filled in.
Cycles Coherence::fill_time(const Transaction& x, Cycles end) const {
  return end + (x.kind == Request::write_no_read ? 0 : p_.fill);
}

/// Reads of the core that the directory has counted but that are not there yet will be used once only.
void Coherence::drop_own_reads(int of, LineId line) {
  if (!asked(of, line)) return;
  for (const UnderWay& one : core(of).under_way)
    if (one.line == line && at(one.t).ordered && is_read(at(one.t).kind)) at(one.t).dropped = true;
}

void Coherence::give_up(std::uint32_t t, int core) {
  if (still_coming(t, core, EventKind::give_up)) return;
  Transaction& x = at(t);
  const Line& line = lines_[x.line];
  drop_own_reads(core, x.line);
  if (readable(core, x.line)) {
    set_state(core, x.line, LineState::invalid);
    forget(core, x.line);
    listener_.taken(core, x.line);
  }
  ++counters_.invalidations;
  if (p_.protocol == Protocol::table) return;
  const Cycles sent = wheel_.now() + p_.owner_latency;
  if (core == x.responder)
    x.data = sent + ring_.send(counters_.data_ring, ring_.core(core), ring_.core(x.core));
  const Cycles told =
      sent + ring_.send(counters_.acknowledge_ring, ring_.core(core), ring_.directory(line.home));
  x.go = std::max(x.go, told + p_.acknowledge);
  if (--x.pending == 0) wheel_.push(x.go, EventKind::acknowledged_write, t);
}

// --- the end ----------------------------------------------------------------------------------------------

template <bool write>
void Coherence::acknowledged(std::uint32_t t) {
  Transaction& x = at(t);
  Line& line = lines_[x.line];
  if (write) line.sharers = CoreSet();
  line.sharers.add(x.core);
  if (write || line.owner < 0) line.owner = x.core;
  if (write) line.dirty = true;
  line.owned = write || (line.owned && line.owner == x.core);
  x.go =
      wheel_.now() + ring_.send(counters_.acknowledge_ring, ring_.directory(line.home), ring_.core(x.core));
  // Without the go-ahead in the way a read ended, or will end, when its data came: see answer().
  if (write || p_.completion == Completion::go) {
    x.ordered = true;
    const bool data_ends = write && p_.completion == Completion::data && x.data >= 0;
    const Cycles end = data_ends ? std::max(x.data, wheel_.now()) : std::max(x.data, x.go);
    x.due = fill_time(x, end);
    wheel_.push(x.due, write ? EventKind::fill_write : EventKind::fill, t);
  }
  // Where the data alone ends a read, its requester may have gone on already: the owner's word is enough.
  const bool early = !write && p_.completion == Completion::data;
  const bool over = early && x.filled;
  const LineId id = x.line;
  if (over) {
    at(t).next = free_;
    free_ = t;
  }
  if (early || (write ? p_.write_unlock : p_.read_unlock) == Unlock::owner) {
    if (log_) note_freed(t);
    line.busy = false;
    pump(id);
  }
}

/// The core's caches have room where the line was.
void Coherence::forget(int core, LineId line) {
  if (!capacity_matters_) return;
  const auto c = static_cast<std::size_t>(core);
  l1_[c].remove(line);
  if (l2_matters_) l2_[c].remove(line);
}

void Coherence::insert(int core, LineId line) {
  if (!capacity_matters_ || !readable(core, line)) return;
  const auto c = static_cast<std::size_t>(core);
  l1_[c].hold(line);
  std::uint32_t out = CoreTags::nothing;
  if (!l2_matters_ || l2_[c].hold(line, &out) || out == CoreTags::nothing) return;
  l1_[c].remove(out);
  if (!readable(core, out)) return;
  ++counters_.evictions;
  request(Request::evict, core, -1, out);
}

template <bool write>
void Coherence::fill(std::uint32_t t) {
  const Transaction& x = at(t);
  const LineId id = x.line;
  const int core = x.core;
  const Request kind = x.kind;
  Line& line = lines_[id];
  at(t).filled = true;
  if (kind == Request::evict) {
    set_state(core, id, LineState::invalid);
  } else if (write) {
    set_state(core, id, LineState::modified);
  } else {
    const bool memory = x.source == Source::memory;
    if (memory && p_.protocol == Protocol::directory)
      line.alone = line.fetching == 1 && line.deferred == none && line.sharers.empty();
    if (!x.dropped && !readable(core, id))
      set_state(core, id,
                memory && (line.alone || (p_.protocol == Protocol::table && line.sharers.empty()))
                    ? LineState::exclusive
                    : LineState::shared);
  }
  if (x.source == Source::cache) ++counters_.from_caches;
  if (x.source == Source::memory) ++counters_.from_memory;
  int transfer = -1;
  if (__builtin_expect(log_ != nullptr, 0)) {
    record(t);
    transfer = static_cast<int>(log_->transfers.size()) - 1;
  }

  // Handles acknowledgements to the directory: of reads from memory, and of what keeps the line busy until
  // then.
  if (p_.protocol == Protocol::table) {
    if (write) line.sharers = CoreSet();
    if (kind != Request::evict) {
      line.sharers.add(core);
      if (write || line.owner < 0) line.owner = static_cast<std::int16_t>(core);
    }
    wheel_.push(wheel_.now() + p_.table_line_service, EventKind::released, t);
  } else {
    const bool fetched = is_read(kind) && x.source == Source::memory;
    const bool holds_line = write ? p_.write_unlock == Unlock::requester || (x.invalidated == 0)
                            : is_read(kind) && !fetched
                                ? p_.read_unlock == Unlock::requester && p_.completion == Completion::go
                                : false;
    if (fetched || holds_line) {
      const Cycles trip =
          ring_.send(counters_.acknowledge_ring, ring_.core(core), ring_.directory(line.home));
      wheel_.push(wheel_.now() + trip, EventKind::released, t);
    } else if (!(is_read(kind) && p_.completion == Completion::data && x.go < 0)) {
      at(t).next = free_;  // with `data`, acknowledged() is still to come and frees it
      free_ = t;
    }
  }

  Core& own = cores_[static_cast<std::size_t>(core)];
  if (kind != Request::evict) {
    leave_core(t);
    --own.outstanding;
  }
  // A copy: the transaction may be reused before its ranks are told.
  const int ranks = at(t).ranks;
  std::int16_t waiting[max_contexts_per_core];
  std::memcpy(waiting, at(t).rank, sizeof waiting);
  if (kind != Request::evict) insert(core, id);
  if (own.held_back != 0) launch_held_back(own);
  for (int i = 0; i < ranks; ++i) listener_.fulfilled(waiting[i], id, kind, i, transfer);
  if (ranks != 0) listener_.all_told();
}

/// As many of the core's transactions as its window allows, in the order of their making.
void Coherence::launch_held_back(Core& own) {
  for (std::size_t i = 0; i < own.under_way.size() && own.outstanding < p_.core_window; ++i) {
    const std::uint32_t t = own.under_way[i].t;
    Transaction& next = at(t);
    if (!next.held_back || state(next.core, next.line) == LineState::leaving) continue;
    next.held_back = false;
    --own.held_back;
    launch(t);
  }
}

void Coherence::released(std::uint32_t t) {
  const Transaction& x = at(t);
  const LineId id = x.line;
  Line& line = lines_[id];
  const bool fetched = p_.protocol == Protocol::directory && is_read(x.kind) && x.source == Source::memory;
  if (log_) note_freed(t);
  if (fetched) {
    --line.fetching;
    line.sharers.add(x.core);
    if (line.owner < 0) line.owner = x.core;
    line.owned = line.alone;
    if (line.fetching == 0) {
      line.alone = false;
      line.joining = false;
      if (line.deferred != none) {
        // They came one before the other; the list has the last first.
        std::uint32_t reversed = none;
        while (line.deferred != none) {
          const std::uint32_t next = at(line.deferred).next;
          at(line.deferred).next = reversed;
          reversed = line.deferred;
          line.deferred = next;
        }
        line.joining = true;
        while (reversed != none) {
          const std::uint32_t next = at(reversed).next;
          ++line.fetching;
          at(reversed).ordered = true;
          fetch(reversed, wheel_.now() + p_.memory_retry + p_.directory_latency);
          reversed = next;
        }
      }
    }
  } else {
    line.busy = false;
  }
  at(t).next = free_;
  free_ = t;
  pump(id);
}

void Coherence::handle(EventKind kind, std::uint32_t t, int core) {
  switch (kind) {
    case EventKind::request:
      return arrive(t);
    case EventKind::start:
      return take_up(t);
    case EventKind::forward:
      return forwarded(t, core);
    case EventKind::answer:
      return answer(t, core);
    case EventKind::invalidate:
      return invalidate(t, core);
    case EventKind::give_up:
      return give_up(t, core);
    case EventKind::acknowledged:
      return acknowledged<false>(t);
    case EventKind::acknowledged_write:
      return acknowledged<true>(t);
    case EventKind::fill:
      return fill<false>(t);
    case EventKind::fill_write:
      return fill<true>(t);
    case EventKind::released:
      return released(t);
    case EventKind::resume:
      return listener_.due(static_cast<int>(t));
    case EventKind::command:
      return listener_.carried_out(t);
  }
  __builtin_unreachable();
}

}  // namespace sim
}  // namespace phicoll
