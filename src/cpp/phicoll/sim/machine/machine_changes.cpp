#include "phicoll/sim/machine/machine_changes.hpp"

#include "phicoll/errors.hpp"
#include "phicoll/sim/machine/machine_parameters.hpp"

namespace phicoll {
namespace sim {

namespace {

const char* const form = "name:parameter=value:..., such as xeon-phi-5110p:ring.hop=0";

/// The end of the name or path: the colon after it, or the end of the text.
std::size_t end_of_base(const std::string& text) {
  const std::string ending = ".json";
  const std::size_t json = text.rfind(ending + ":");
  if (json != std::string::npos) return json + ending.size();
  if (text.size() >= ending.size() && text.compare(text.size() - ending.size(), ending.size(), ending) == 0)
    return text.size();
  const std::size_t slash = text.rfind('/');
  const std::size_t colon = text.find(':', slash == std::string::npos ? 0 : slash);
  return colon == std::string::npos ? text.size() : colon;
}

}  // namespace

MachineText split_machine_text(const std::string& text) {
  MachineText parts;
  std::size_t at = end_of_base(text);
  parts.base = text.substr(0, at);
  parts.is_path = parts.base.find('/') != std::string::npos ||
                  (parts.base.size() >= 5 && parts.base.compare(parts.base.size() - 5, 5, ".json") == 0);
  while (at < text.size()) {
    std::size_t end = text.find(':', at + 1);
    if (end == std::string::npos) end = text.size();
    const std::string change = text.substr(at + 1, end - at - 1);
    const std::size_t equals = change.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw ArgumentError("machine", "'" + change + "' in '" + text + "'", form);
    const std::string name = change.substr(0, equals);
    for (const auto& earlier : parts.changes)
      if (earlier.first == name)
        throw ArgumentError("machine", name + " twice in '" + text + "'", "each parameter once");
    parts.changes.emplace_back(name, change.substr(equals + 1));
    at = end;
  }
  return parts;
}

void change_machine(Machine* machine, const std::vector<std::pair<std::string, std::string>>& changes) {
  const std::vector<std::pair<std::string, std::string>> before = machine_values(machine->p);
  for (const auto& change : changes) {
    const MachineParameterInfo* info = find_machine_parameter(change.first);
    const std::string got = change.first + "=" + change.second + " for " + machine->name;
    if (info == nullptr)
      throw ArgumentError("machine", "the unknown parameter '" + change.first + "' for " + machine->name,
                          nearest_machine_parameter(change.first));
    if (change.first == "topology.protocol")
      throw ArgumentError("machine", got, "a machine file of its own: protocols have different parameters");
    if (!info->used_by(machine->p.protocol))
      throw ArgumentError("machine", got, "only parameters that a machine of its topology.protocol has");
    if (!set_machine_value(&machine->p, change.first, change.second))
      throw ArgumentError("machine", got, info->range());
  }
  const MachineConflict conflict = find_machine_conflict(machine->p);
  if (!conflict.parameter.empty())
    throw ArgumentError("machine", conflict.got + " for " + machine->name, conflict.allowed);
  // Only what differs, in the order of description, so that equal machines have equal names.
  const std::vector<std::pair<std::string, std::string>> after = machine_values(machine->p);
  std::string name = machine->name;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (after[i].second == before[i].second) continue;
    name += ":" + after[i].first + "=" + after[i].second;
    const Evidence* known = machine->evidence_of(after[i].first);
    Evidence changed;
    changed.parameter = after[i].first;
    changed.kind = "changed";
    changed.source =
        "was " + before[i].second + (known == nullptr ? "" : " (" + known->kind + "): " + known->source);
    if (known == nullptr)
      machine->evidence.push_back(changed);
    else
      machine->evidence[static_cast<std::size_t>(known - machine->evidence.data())] = changed;
  }
  machine->name = name;
  machine->digest = machine_digest(machine->p);
}

}  // namespace sim
}  // namespace phicoll
