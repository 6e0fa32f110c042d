#include "phicoll/sim/machine_file.hpp"

#include <initializer_list>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/measure/json.hpp"
#include "phicoll/sim/machine_parameters.hpp"

namespace phicoll {
namespace sim {

namespace {

using measure::JsonValue;
using Type = JsonValue::Type;

const std::initializer_list<const char*> kinds = {"calibrated", "derived", "guessed", "published"};

std::string list(std::initializer_list<const char*> words) {
  std::string text;
  for (const char* word : words) text += (text.empty() ? "" : ", ") + std::string(word);
  return text;
}

bool is_one_of(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words)
    if (text == word) return true;
  return false;
}

class FileReader {
 public:
  explicit FileReader(const std::string& file) : file_(file) {}

  Machine read(const std::string& text) {
    JsonValue top;
    measure::JsonFault fault;
    if (!JsonValue::parse(text, &top, &fault)) fail(fault.line, fault.what, "JSON (docs/machines.md)");
    if (top.type != Type::object) fail(top.line, "no object", "a machine: {\"phicoll\": \"machine\", ...}");
    check_fields(top, "the file", {"phicoll", "name", "summary", "parameters"});
    if (read_text(top, "phicoll", "the file") != "machine")
      fail(top["phicoll"].line, "phicoll = " + top["phicoll"].text(), "\"machine\"");
    Machine machine;
    machine.name = read_text(top, "name", "the file");
    if (!is_machine_name(machine.name))
      fail(top["name"].line, "name = " + top["name"].text(),
           "a name without blanks, commas, colons and slashes");
    machine.summary = read_text(top, "summary", "the file");
    const JsonValue& parameters = top["parameters"];
    if (parameters.type != Type::object)
      fail(parameters.line, "parameters = " + parameters.text(), "an object with a field for each parameter");
    read_parameters(parameters, &machine);
    return machine;
  }

 private:
  [[noreturn]] void fail(int line, const std::string& got, const std::string& allowed) const {
    throw ArgumentError("machine", "'" + file_ + "', line " + std::to_string(line) + ": " + got, allowed);
  }

  /// Exactly these fields.
  void check_fields(const JsonValue& object, const std::string& where,
                    std::initializer_list<const char*> names) const {
    for (const auto& member : object.object)
      if (!is_one_of(member.first, names))
        fail(member.second.line, "the unknown field '" + member.first + "' in " + where, list(names));
    for (const char* name : names)
      if (object.object.count(name) == 0)
        fail(object.line, where + " without the field '" + name + "'", "all of " + list(names));
  }

  std::string read_text(const JsonValue& object, const std::string& name, const std::string& where) const {
    const JsonValue& value = object[name];
    if (value.type != Type::string || value.string.empty())
      fail(value.line, name + " of " + where + " = " + value.text(), "a text that is not empty");
    return value.string;
  }

  void read_parameters(const JsonValue& parameters, Machine* machine) const {
    for (const auto& member : parameters.object)
      if (find_machine_parameter(member.first) == nullptr)
        fail(member.second.line, "the unknown parameter '" + member.first + "'",
             nearest_machine_parameter(member.first));
    // Which parameters a machine has depends on how a line travels in it.
    const MachineParameterInfo& protocol = *find_machine_parameter("topology.protocol");
    if (parameters.object.count(protocol.name) != 0)
      read_parameter(parameters[protocol.name], protocol, &machine->p);
    std::string missing;
    for (const MachineParameterInfo& info : machine_parameters()) {
      const bool used = info.used_by(machine->p.protocol);
      if (parameters.object.count(info.name) == 0) {
        if (used && !info.optional) missing += (missing.empty() ? "" : ", ") + info.name;
        continue;
      }
      const JsonValue& entry = parameters[info.name];
      if (!used) fail(entry.line, info.name, "only parameters that a machine of its topology.protocol has");
      machine->evidence.push_back(read_parameter(entry, info, &machine->p));
    }
    if (!missing.empty())
      fail(parameters.line, "parameters without " + missing,
           "every parameter (phicoll list machine NAME shows them)");
    const MachineConflict conflict = find_machine_conflict(machine->p);
    if (!conflict.parameter.empty()) {
      const JsonValue& entry = parameters[conflict.parameter];
      fail(entry.line > 0 ? entry.line : parameters.line, conflict.got, conflict.allowed);
    }
    machine->digest = machine_digest(machine->p);
  }

  Evidence read_parameter(const JsonValue& entry, const MachineParameterInfo& info,
                          MachineParameters* p) const {
    if (entry.type != Type::object)
      fail(entry.line, info.name + " = " + entry.text(), "{\"value\": ..., \"kind\": ..., \"source\": ...}");
    check_fields(entry, info.name, {"value", "kind", "source"});
    const JsonValue& value = entry["value"];
    const bool right_type = value.type == (info.is_number() ? Type::number : Type::string);
    const std::string text = value.type == Type::string ? value.string : value.text();
    if (!right_type || !set_machine_value(p, info.name, text))
      fail(value.line, info.name + " = " + value.text(),
           (info.is_number() ? "a whole number, " : "one of the texts ") + info.range());
    Evidence evidence;
    evidence.parameter = info.name;
    evidence.kind = read_text(entry, "kind", info.name);
    if (!is_one_of(evidence.kind, kinds))
      fail(entry["kind"].line, "kind of " + info.name + " = " + entry["kind"].text(), list(kinds));
    evidence.source = read_text(entry, "source", info.name);
    return evidence;
  }

  const std::string& file_;
};

}  // namespace

bool is_machine_name(const std::string& name) {
  return !name.empty() && name.find_first_of(":/, \t\n") == std::string::npos;
}

Machine parse_machine_file(const std::string& text, const std::string& file) {
  return FileReader(file).read(text);
}

std::string machine_file_text(const Machine& machine) {
  std::vector<std::string> lines;
  for (const auto& value : machine_values(machine.p)) {
    const MachineParameterInfo& info = *find_machine_parameter(value.first);
    if (!info.used_by(machine.p.protocol)) continue;
    const Evidence* evidence = machine.evidence_of(value.first);
    if (evidence == nullptr && info.optional) continue;
    measure::JsonObject entry;
    entry.raw("value", info.is_number() ? value.second : measure::json_quote(value.second));
    entry.add("kind", evidence == nullptr ? "guessed" : evidence->kind);
    entry.add("source", evidence == nullptr ? "not said" : evidence->source);
    lines.push_back("    " + measure::json_quote(value.first) + ": " + entry.text());
  }
  std::string text = "{\n  \"phicoll\": \"machine\",\n  \"name\": " + measure::json_quote(machine.name) +
                     ",\n  \"summary\": " + measure::json_quote(machine.summary) + ",\n  \"parameters\": {\n";
  for (std::size_t i = 0; i < lines.size(); ++i) text += lines[i] + (i + 1 < lines.size() ? ",\n" : "\n");
  return text + "  }\n}\n";
}

}  // namespace sim
}  // namespace phicoll
