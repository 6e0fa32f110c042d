#include "phicoll/sim/machine/machine.hpp"

#include "phicoll/errors.hpp"
#include "phicoll/os/input_file.hpp"
#include "phicoll/sim/machine/machine_changes.hpp"
#include "phicoll/sim/machine/machine_file.hpp"
#include "phicoll/sim/machine/shipped_machine_files.hpp"
#include "phicoll/support/nearest.hpp"

namespace phicoll {
namespace sim {

namespace {

std::string read_file(const std::string& path) {
  constexpr std::size_t most = std::size_t(4) << 20;
  std::string text;
  os::InputFile file(path);
  if (!file.read_all(most, &text))
    throw ArgumentError("machine", "'" + path + "' (" + file.fault() + ")",
                        "a machine file that can be read, or a shipped machine's name");
  return text;
}

Machine load_shipped(const std::string& name) {
  std::vector<std::string> names;
  for (int i = 0; i < shipped_machine_file_count; ++i) {
    const ShippedMachineFile& file = shipped_machine_files[i];
    if (name == file.name) return parse_machine_file(file.text, name + ".json");
    names.emplace_back(file.name);
  }
  throw ArgumentError("machine", "'" + name + "'",
                      "a machine file (a path with a slash or .json), or " + nearest_or_all(name, names));
}

}  // namespace

const Evidence* Machine::evidence_of(const std::string& parameter) const {
  for (const Evidence& one : evidence)
    if (one.parameter == parameter) return &one;
  return nullptr;
}

std::vector<CpuLocation> Machine::places() const {
  const int cores_per_package = p.cores / p.packages;
  const int cores_per_l3 = cores_per_package / p.l3_per_package;
  std::vector<CpuLocation> contexts_of_all;
  for (int core = 0; core < p.cores; ++core)
    for (int context = 0; context < p.contexts_per_core; ++context) {
      CpuLocation place;
      place.cpu = core * p.contexts_per_core + context;
      place.core = core;
      place.package = core / cores_per_package;
      place.l3 = core / cores_per_l3;
      place.numa = place.package;
      contexts_of_all.push_back(place);
    }
  return contexts_of_all;
}

Machine load_machine(const std::string& text) {
  const MachineText parts = split_machine_text(text);
  Machine machine =
      parts.is_path ? parse_machine_file(read_file(parts.base), parts.base) : load_shipped(parts.base);
  change_machine(&machine, parts.changes);
  return machine;
}

std::vector<Machine> shipped_machines() {
  std::vector<Machine> machines;
  for (int i = 0; i < shipped_machine_file_count; ++i)
    machines.push_back(load_shipped(shipped_machine_files[i].name));
  return machines;
}

}  // namespace sim
}  // namespace phicoll
