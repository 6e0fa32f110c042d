#include "phicoll/sim/machine/machine_listing.hpp"

namespace phicoll {
namespace sim {

std::vector<MachineListing> machine_listing(const Machine& machine) {
  std::vector<MachineListing> lines;
  for (const auto& value : machine_values(machine.p)) {
    MachineListing line;
    line.info = find_machine_parameter(value.first);
    if (!line.info->used_by(machine.p.protocol)) continue;
    line.value = value.second;
    const Evidence* evidence = machine.evidence_of(value.first);
    line.kind = evidence == nullptr ? "default" : evidence->kind;
    if (evidence != nullptr) line.source = evidence->source;
    lines.push_back(line);
  }
  return lines;
}

}  // namespace sim
}  // namespace phicoll
