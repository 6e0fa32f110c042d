// The protocol of machines whose transfers cost what a table says (Protocol::table).

#include "phicoll/sim/engine/coherence.hpp"

#include <algorithm>

namespace phicoll {
namespace sim {

/// When a line that is asked for now starts on its way, which it does when all that it passes has let it in:
/// the cache of the core that answers (none: memory, of the package `home`), the way out of its last-level
/// cache, that between packages, and the way into the requester's last-level cache.
Cycles Coherence::queue_table(int from, int to, Source source, int home, Cycles at) {
  const auto pass = [&](std::vector<Cycles>& free, int which, Cycles service) {
    if (service == 0) return;
    Cycles& until = free[static_cast<std::size_t>(which)];
    at = std::max(at, until);
    until = at + service;
  };
  const bool cached = source == Source::cache;
  if (cached) {
    at = core(from).cache.serve(at, p_.table_owner_service);
    if (l3_of(from) == l3_of(to)) return at;
    pass(l3_out_free_, l3_of(from), p_.table_l3_out);
  }
  const int package = cached ? package_of(from) : home;
  if (package != package_of(to)) pass(package_out_free_, package, p_.table_package_out);
  pass(l3_in_free_, l3_of(to), p_.table_l3_in);
  return at;
}

void Coherence::begin_table(std::uint32_t t) {
  Transaction& x = at(t);
  Line& line = lines_[x.line];
  line.busy = true;
  if (x.kind == Request::evict) {
    line.sharers.remove(x.core);
    if (line.owner == x.core) {
      if (line.dirty) {
        ++counters_.write_backs;
        Cycles& out = l3_out_free_[static_cast<std::size_t>(l3_of(x.core))];
        out = std::max(out, wheel_.now()) + p_.table_l3_out;
      }
      line.dirty = false;
      line.owner = static_cast<std::int16_t>(line.sharers.lowest());
    }
    wheel_.push(wheel_.now() + p_.table_near_shared, EventKind::fill, t);
    return;
  }
  const int package = package_of(x.core);
  if (line.package < 0) line.package = static_cast<std::int8_t>(package);
  CoreSet others = line.sharers;
  others.remove(x.core);
  x.upgrade = line.sharers.has(x.core);
  Cycles latency = p_.l2_hit;
  Cycles start = wheel_.now();
  if (line.sharers.empty()) {
    x.source = Source::memory;
    latency = line.package == package ? p_.table_memory : p_.table_far_memory;
    start = queue_table(-1, x.core, x.source, line.package, start);
  } else if (!others.empty()) {
    // The owner answers, or of several sharers the nearest: under the requester's last-level cache, else in
    // its package.
    const int l3 = l3_of(x.core);
    const auto nearness = [&](int core) {
      return l3_of(core) == l3 ? 2 : package_of(core) == package ? 1 : 0;
    };
    int from = line.owner >= 0 && line.owner != x.core ? line.owner : others.lowest();
    others.each([&](int core) {
      if (!writable(from, x.line) && nearness(core) > 0 && nearness(core) >= nearness(from)) from = core;
    });
    // What goes from one last-level cache to another asks the line's memory, whose package may be another
    // one.
    const int place = nearness(from) == 1 && line.package != package ? 0 : nearness(from);
    const auto of_place = [&](int near, int other, int far) {
      return place == 2 ? near : place == 1 ? other : far;
    };
    switch (state(from, x.line)) {
      case LineState::modified:
        latency = of_place(p_.table_near_modified, p_.table_other_modified, p_.table_far_modified);
        break;
      case LineState::exclusive:
        latency = of_place(p_.table_near_exclusive, p_.table_other_exclusive, p_.table_far_exclusive);
        break;
      default:
        latency = of_place(p_.table_near_shared, p_.table_other_shared, p_.table_far_shared);
    }
    x.source = Source::cache;
    // A sharer of the line gets no data.
    if (!x.upgrade) start = queue_table(from, x.core, x.source, line.package, start);
    x.responder = static_cast<std::int16_t>(from);
    latency = std::max<Cycles>(latency, 1);  // the others give the line up before the requester has it
    const Cycles half = start + latency / 2;
    if (is_write(x.kind)) {
      others.each([&](int core) {
        ++x.invalidated;
        wheel_.push(half, EventKind::give_up, t, static_cast<std::uint16_t>(core));
      });
    } else {
      wheel_.push(half, EventKind::answer, t, static_cast<std::uint16_t>(from));
    }
  }
  if (is_write(x.kind)) {
    line.dirty = true;
    if (x.upgrade) ++counters_.upgrades;
  }
  x.data = start + latency;
  wheel_.push(x.data + p_.fill, fill_event(x.kind), t);
}

}  // namespace sim
}  // namespace phicoll
