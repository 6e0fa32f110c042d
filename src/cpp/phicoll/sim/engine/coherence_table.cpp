// The protocol of machines whose transfers cost what a table says (Protocol::table).

#include "phicoll/sim/engine/coherence.hpp"

#include <algorithm>

namespace phicoll {
namespace sim {

void Coherence::begin_table(std::uint32_t t) {
  Transaction& x = at(t);
  Line& line = lines_[x.line];
  line.busy = true;
  if (x.kind == Request::evict) {
    line.sharers.remove(x.core);
    if (line.owner == x.core) {
      if (line.dirty) ++counters_.write_backs;
      line.dirty = false;
      line.owner = static_cast<std::int16_t>(line.sharers.lowest());
    }
    wheel_.push(wheel_.now() + p_.table_near_shared, EventKind::fill, t);
    return;
  }
  const int package = package_of(x.core);
  if (line.package < 0) line.package = static_cast<std::int16_t>(package);
  CoreSet others = line.sharers;
  others.remove(x.core);
  x.upgrade = line.sharers.has(x.core);
  Cycles latency = p_.l2_hit;
  if (line.sharers.empty()) {
    x.source = Source::memory;
    latency = line.package == package ? p_.table_memory : p_.table_far_memory;
  } else if (!others.empty()) {
    // The owner answers, or of several sharers one in the requester's package.
    int from = line.owner >= 0 && line.owner != x.core ? line.owner : others.lowest();
    others.each([&](int core) {
      if (!writable(from, x.line) && package_of(core) == package) from = core;
    });
    const bool near = package_of(from) == package;
    switch (state(from, x.line)) {
      case LineState::modified:
        latency = near ? p_.table_near_modified : p_.table_far_modified;
        break;
      case LineState::exclusive:
        latency = near ? p_.table_near_exclusive : p_.table_far_exclusive;
        break;
      default:
        latency = near ? p_.table_near_shared : p_.table_far_shared;
    }
    x.source = Source::cache;
    x.responder = static_cast<std::int16_t>(from);
    latency = std::max<Cycles>(latency, 1);  // the others give the line up before the requester has it
    const Cycles half = wheel_.now() + latency / 2;
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
  x.data = wheel_.now() + latency;
  wheel_.push(x.data + p_.fill, EventKind::fill, t);
}

}  // namespace sim
}  // namespace phicoll
