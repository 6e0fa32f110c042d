#include "phicoll/sim/machine/machine_parameters.hpp"

#include <algorithm>
#include <initializer_list>
#include <limits>

#include "phicoll/support/nearest.hpp"
#include "phicoll/support/text_hash.hpp"

namespace phicoll {
namespace sim {

namespace {

bool begins(const std::string& text, const char* prefix) {
  return text.compare(0, std::string(prefix).size(), prefix) == 0;
}

/// Collects the parameters' descriptions.
class Lister {
 public:
  void number(const char* name, int&, int least, int most, const char* unit, const char* meaning) {
    MachineParameterInfo info = start(name, meaning);
    info.unit = unit;
    info.least = least;
    info.most = most;
    infos.push_back(info);
  }
  template <class Enum>
  void choice(const char* name, Enum&, std::initializer_list<const char*> names, const char* meaning) {
    MachineParameterInfo info = start(name, meaning);
    info.choices.assign(names.begin(), names.end());
    infos.push_back(info);
  }
  std::vector<MachineParameterInfo> infos;

 private:
  static MachineParameterInfo start(const std::string& name, const char* meaning) {
    MachineParameterInfo info;
    info.name = name;
    info.meaning = meaning;
    info.optional = begins(name, "noise.") || begins(name, "core.copy_") || name == "memory.retry" ||
                    name == "software.put" || name == "software.flags" || name == "clock.resolution" ||
                    name == "local.data" || name == "dma.element" || begins(name, "dma.ring");
    info.in_directory = !begins(name, "table.");
    for (const char* more :
         {"topology.l3_per_package", "table.other_", "table.owner_service", "table.l3_", "table.package_out"})
      if (begins(name, more)) info.optional = true, info.in_directory = false;
    for (const char* group : {"ring.", "directory.", "owner.", "memory.", "topology.directories",
                              "topology.memory_controllers", "topology.channels", "topology.ring_stops"})
      if (begins(name, group)) info.in_table = info.in_local_store = false;
    for (const char* group : {"table.", "cache.", "request.", "topology.l3", "core.l2_hit", "core.atomic",
                              "core.copy_", "core.store_buffer", "core.store_window", "core.core_window"})
      if (begins(name, group)) info.in_local_store = false;
    for (const char* group : {"local.", "dma."})
      if (begins(name, group)) info.in_directory = info.in_table = false;
    return info;
  }
};

class Reader {
 public:
  void number(const char* name, int& value, int, int, const char*, const char*) {
    values.emplace_back(name, std::to_string(value));
  }
  template <class Enum>
  void choice(const char* name, Enum& value, std::initializer_list<const char*> names, const char*) {
    values.emplace_back(name, *(names.begin() + static_cast<int>(value)));
  }
  std::vector<std::pair<std::string, std::string>> values;
};

/// Whole numbers only: no blanks, no fraction, nothing that an int cannot hold.
bool parse_int(const std::string& text, int* value) {
  std::size_t at = 0;
  const bool negative = !text.empty() && text[0] == '-';
  if (negative) ++at;
  if (at == text.size() || text.size() - at > 10) return false;
  long long found = 0;
  for (; at < text.size(); ++at) {
    if (text[at] < '0' || text[at] > '9') return false;
    found = found * 10 + (text[at] - '0');
  }
  if (found > std::numeric_limits<int>::max()) return false;
  *value = static_cast<int>(negative ? -found : found);
  return true;
}

class Setter {
 public:
  Setter(const std::string& name, const std::string& value) : name_(name), value_(value) {}
  void number(const char* name, int& value, int least, int most, const char*, const char*) {
    int found = 0;
    if (name_ != name || !parse_int(value_, &found) || found < least || found > most) return;
    value = found;
    done = true;
  }
  template <class Enum>
  void choice(const char* name, Enum& value, std::initializer_list<const char*> names, const char*) {
    if (name_ != name) return;
    int index = 0;
    for (const char* one : names) {
      if (value_ == one) {
        value = static_cast<Enum>(index);
        done = true;
      }
      ++index;
    }
  }
  bool done = false;

 private:
  const std::string& name_;
  const std::string& value_;
};

std::string assignment(const std::string& name, int value) {
  return name + " = " + std::to_string(value);
}

}  // namespace

std::string MachineParameterInfo::range() const {
  std::string text;
  if (is_number()) {
    text = std::to_string(least) + " to " + std::to_string(most);
    return unit.empty() ? text : text + " " + unit;
  }
  for (const std::string& choice : choices) text += (text.empty() ? "" : ", ") + choice;
  return text;
}

const std::vector<MachineParameterInfo>& machine_parameters() {
  static const std::vector<MachineParameterInfo> infos = [] {
    Lister lister;
    MachineParameters any;
    describe_machine(lister, any);
    return lister.infos;
  }();
  return infos;
}

const MachineParameterInfo* find_machine_parameter(const std::string& name) {
  for (const MachineParameterInfo& info : machine_parameters())
    if (info.name == name) return &info;
  return nullptr;
}

std::string nearest_machine_parameter(const std::string& name) {
  return nearest_item(name, machine_parameters());
}

std::vector<std::pair<std::string, std::string>> machine_values(const MachineParameters& parameters) {
  Reader reader;
  MachineParameters copy = parameters;
  describe_machine(reader, copy);
  return reader.values;
}

bool set_machine_value(MachineParameters* parameters, const std::string& name, const std::string& value) {
  Setter setter(name, value);
  describe_machine(setter, *parameters);
  return setter.done;
}

MachineConflict find_machine_conflict(const MachineParameters& p) {
  const auto conflict = [](const std::string& parameter, const std::string& got, const std::string& allowed) {
    MachineConflict found;
    found.parameter = parameter;
    found.got = got;
    found.allowed = allowed;
    return found;
  };
  const std::string cores = std::to_string(p.cores);
  if (p.cores % p.packages != 0)
    return conflict("topology.packages", assignment("topology.packages", p.packages),
                    "a divisor of topology.cores, which is " + cores);
  const int per_package = p.cores / p.packages;
  if (per_package % p.l3_per_package != 0)
    return conflict("topology.l3_per_package", assignment("topology.l3_per_package", p.l3_per_package),
                    "a divisor of the cores of a package, which are " + std::to_string(per_package));
  if (p.l3_per_package > 1 &&
      std::min({p.table_other_modified, p.table_other_exclusive, p.table_other_shared}) == 0)
    return conflict("topology.l3_per_package", assignment("topology.l3_per_package", p.l3_per_package),
                    "1, or table.other_modified, table.other_exclusive and table.other_shared above 0");
  if (p.protocol == Protocol::directory && p.ring_stops < p.cores)
    return conflict("topology.ring_stops", assignment("topology.ring_stops", p.ring_stops),
                    "at least one for each of the " + cores + " cores");
  if (p.protocol == Protocol::local_store && p.contexts_per_core != 1)
    return conflict("topology.contexts_per_core",
                    assignment("topology.contexts_per_core", p.contexts_per_core), "1 with local stores");
  if (p.protocol == Protocol::local_store && p.dma_rings > 0 &&
      (p.dma_rings % 2 != 0 || p.dma_ring_rate == 0))
    return conflict("dma.rings", assignment("dma.rings", p.dma_rings),
                    "an even number, and dma.ring_rate above 0");
  if (p.protocol == Protocol::local_store && (p.dma_buffer % 128 != 0))
    return conflict("dma.buffer", assignment("dma.buffer", p.dma_buffer), "a multiple of 128");
  if (p.protocol == Protocol::local_store &&
      (p.local_kib <= p.local_code_kib ||
       static_cast<std::size_t>(p.local_kib - p.local_code_kib) * 1024 < p.buffer_bytes()))
    return conflict("local.kib", assignment("local.kib", p.local_kib),
                    "room for local.code_kib and dma.buffers of dma.buffer bytes");
  const auto whole_sets = [](int kib, int ways) { return ways == 0 || kib * 1024 % (ways * 64) == 0; };
  if (!whole_sets(p.l1_kib, p.l1_ways))
    return conflict("cache.l1_ways", assignment("cache.l1_ways", p.l1_ways),
                    "a whole number of sets of 64-byte lines in " + std::to_string(p.l1_kib) + " KiB");
  if (!whole_sets(p.l2_kib, p.l2_ways))
    return conflict("cache.l2_ways", assignment("cache.l2_ways", p.l2_ways),
                    "a whole number of sets of 64-byte lines in " + std::to_string(p.l2_kib) + " KiB");
  if (p.os_core >= p.cores)
    return conflict("noise.os_core", assignment("noise.os_core", p.os_core),
                    "-1 to " + std::to_string(p.cores - 1));
  if (p.os_core >= 0 && p.os_interval <= p.os_duration)
    return conflict("noise.os_interval", assignment("noise.os_interval", p.os_interval),
                    "more than noise.os_duration, which is " + std::to_string(p.os_duration) +
                        ", where noise.os_core is a core");
  return MachineConflict();
}

std::string machine_digest(const MachineParameters& parameters) {
  // A machine keeps its digest when machines get parameters that it leaves out.
  const auto usual = machine_values(MachineParameters());
  std::vector<std::string> lines;
  for (const auto& value : machine_values(parameters)) {
    const MachineParameterInfo& info = *find_machine_parameter(value.first);
    const bool left_out =
        ((info.optional && !begins(info.name, "noise.")) || (!info.in_directory && !info.in_table)) &&
        std::find(usual.begin(), usual.end(), value) != usual.end();
    if (!left_out) lines.push_back(value.first + "=" + value.second + "\n");
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return hexadecimal(text_hash(text));
}

}  // namespace sim
}  // namespace phicoll
