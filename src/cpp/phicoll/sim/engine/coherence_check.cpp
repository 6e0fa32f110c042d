// Checks which core may hold which line in which state; puts lines into a state when a machine is set up.

#include "phicoll/sim/engine/coherence.hpp"

#include <algorithm>
#include <string>

#include "phicoll/errors.hpp"

namespace phicoll {
namespace sim {

void Coherence::check(LineId line) const {
  std::string holders;
  int owners = 0, sharers = 0;
  for (int core = 0; core < p_.cores; ++core) {
    const LineState s = state(core, line);
    if (s == LineState::invalid || s == LineState::leaving) continue;
    (s == LineState::shared ? sharers : owners) += 1;
    holders += (holders.empty() ? "" : ", ") + std::string("core ") + std::to_string(core) + " " + letter(s);
  }
  if (owners > 1 || (owners == 1 && sharers > 0))
    throw Error("simulation: line " + std::to_string(line) + " at cycle " + std::to_string(wheel_.now()) +
                " is held by " + holders + ": one core alone may have a line exclusive or modified");
}

bool Coherence::has_asked_before(Cycles time) const {
  for (const Core& one : cores_)
    for (const UnderWay& way : one.under_way)
      if (steps_[way.t].issued <= time) return true;
  return false;
}

void Coherence::check_at_rest() const {
  for (LineId id = 0; id < lines_.size(); ++id) {
    const Line& line = lines_[id];
    const std::string name = "simulation: at rest line " + std::to_string(id);
    check(id);
    if (line.busy || line.waiting != none || line.fetching != 0 || line.deferred != none || line.alone ||
        line.joining)
      throw Error(name + " is busy though nothing is under way");
    for (int core = 0; core < p_.cores; ++core) {
      const LineState s = state(core, id);
      const std::string at_core = " at core " + std::to_string(core);
      if (s == LineState::leaving) throw Error(name + " is leaving" + at_core);
      if ((s != LineState::invalid) != line.sharers.has(core))
        throw Error(name + at_core + " is " + letter(s) + ", and its directory knows otherwise");
      if (writable(core, id) && (line.owner != core || !(line.owned || p_.protocol == Protocol::table)))
        throw Error(name + at_core + " is " + letter(s) +
                    ", and its directory does not take it for the owner");
      if (s == LineState::modified && !line.dirty)
        throw Error(name + at_core + " is modified, and its directory takes it for clean");
    }
    if (line.owner >= 0 ? !line.sharers.has(line.owner) : !line.sharers.empty())
      throw Error(name + " has owner " + std::to_string(line.owner) + ", which does not hold it");
  }
  for (std::size_t i = 0; i < cores_.size(); ++i) {
    const Core& core = cores_[i];
    if (!core.under_way.empty() || core.outstanding != 0 || core.held_back != 0)
      throw Error("simulation: at rest core " + std::to_string(i) + " still waits for line " +
                  std::to_string(core.under_way.empty() ? 0 : core.under_way.front().line));
  }
  std::vector<bool> free(transactions_.size());
  std::size_t count = 0;
  for (std::uint32_t t = free_; t != none; t = transactions_[t].next, ++count) {
    if (free[t]) throw Error("simulation: transaction " + std::to_string(t) + " was freed twice");
    free[t] = true;
  }
  if (count != transactions_.size())
    throw Error("simulation: at rest " + std::to_string(transactions_.size() - count) +
                " transactions were never freed");
}

void Coherence::place(LineId id, LineState to, const std::vector<int>& cores) {
  for (const int core : cores)
    if (core < 0 || core >= p_.cores)
      throw ArgumentError("cores", std::to_string(core), "0 to " + std::to_string(p_.cores - 1));
  const bool alone = to == LineState::exclusive || to == LineState::modified;
  if (alone && cores.size() > 1)
    throw ArgumentError("cores", std::to_string(cores.size()) + " cores", "one that has the line alone");
  Line& line = lines_[id];
  for (int core = 0; core < p_.cores; ++core) {
    if (state(core, id) == LineState::invalid) continue;
    set_state(core, id, LineState::invalid);
    forget(core, id);
  }
  line.sharers = CoreSet();
  line.owner = -1;
  line.dirty = to == LineState::modified;
  line.owned = alone;
  if (!cores.empty() && line.package < 0) line.package = static_cast<std::int8_t>(package_of(cores[0]));
  if (to == LineState::invalid) return;
  for (const int core : cores) {
    set_state(core, id, to);
    line.sharers.add(core);
    if (line.owner < 0) line.owner = static_cast<std::int16_t>(core);
    if (!capacity_matters_) continue;
    const auto c = static_cast<std::size_t>(core);
    l1_[c].hold(id);
    std::uint32_t out = CoreTags::nothing;
    if (!l2_matters_ || l2_[c].hold(id, &out) || out == CoreTags::nothing) continue;
    l1_[c].remove(out);
    if (state(core, out) == LineState::invalid) continue;
    set_state(core, out, LineState::invalid);
    Line& lost = lines_[out];
    lost.sharers.remove(core);
    if (lost.owner != core) continue;
    lost.owner = static_cast<std::int16_t>(lost.sharers.lowest());
    lost.dirty = lost.owned = false;
  }
}

}  // namespace sim
}  // namespace phicoll
