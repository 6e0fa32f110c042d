#include "phicoll/sim/machine/machine_file.hpp"

#include <cmath>
#include <initializer_list>
#include <limits>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/sim/machine/machine_parameters.hpp"
#include "phicoll/support/json.hpp"

namespace phicoll {
namespace sim {

namespace {

using Type = JsonValue::Type;

const std::initializer_list<const char*> kinds = {"measured", "published", "calibrated",
                                                  "derived",  "assumed",   "guessed"};
const std::initializer_list<const char*> model_kinds = {"measured", "published", "simulated", "assumed",
                                                        "undetermined"};

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
    JsonFault fault;
    if (!JsonValue::parse(text, &top, &fault)) fail(fault.line, fault.what, "JSON (docs/machines.md)");
    if (top.type != Type::object) fail(top.line, "no object", "a machine: {\"phicoll\": \"machine\", ...}");
    check_fields(top, "the file", {"phicoll", "name", "summary", "parameters"}, {"host", "model"});
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
    if (top.object.count("host") != 0) machine.host = read_host(top["host"]);
    if (top.object.count("model") != 0) machine.model = read_model(top["model"]);
    machine.costs = line_costs_of(machine.model);
    return machine;
  }

 private:
  [[noreturn]] void fail(int line, const std::string& got, const std::string& allowed) const {
    throw ArgumentError("machine", "'" + file_ + "', line " + std::to_string(line) + ": " + got, allowed);
  }

  /// Requires these fields, and allows the optional ones.
  void check_fields(const JsonValue& object, const std::string& where,
                    std::initializer_list<const char*> names,
                    std::initializer_list<const char*> optional = {}) const {
    for (const auto& member : object.object)
      if (!is_one_of(member.first, names) && !is_one_of(member.first, optional))
        fail(member.second.line, "the unknown field '" + member.first + "' in " + where,
             list(names) + (optional.size() == 0 ? "" : ", " + list(optional)));
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

  /// A positive whole number that an int holds.
  int read_count(const JsonValue& object, const std::string& name) const {
    const JsonValue& value = object[name];
    if (value.type != Type::number || value.number < 1 || value.number > std::numeric_limits<int>::max() ||
        value.number != std::floor(value.number))
      fail(value.line, name + " of host = " + value.text(), "a whole number from 1");
    return static_cast<int>(value.number);
  }

  ModelHost read_host(const JsonValue& entry) const {
    if (entry.type != Type::object)
      fail(entry.line, "host = " + entry.text(), "{\"cpu\": ..., \"allowed_cpus\": ..., \"clock_mhz\": ...}");
    check_fields(entry, "host", {"cpu", "allowed_cpus", "clock_mhz"});
    ModelHost host;
    host.cpu = read_text(entry, "cpu", "host");
    host.allowed_cpus = read_count(entry, "allowed_cpus");
    host.clock_mhz = read_count(entry, "clock_mhz");
    return host;
  }

  std::vector<ModelConstant> read_model(const JsonValue& model) const {
    if (model.type != Type::object)
      fail(model.line, "model = " + model.text(), "an object with a field for each constant");
    for (const auto& member : model.object)
      if (find_model_constant(member.first) == nullptr)
        fail(member.second.line, "the unknown constant '" + member.first + "' in model",
             nearest_model_constant(member.first));
    std::vector<ModelConstant> constants;
    for (const ModelConstantInfo& info : model_constants())
      if (model.object.count(info.name) != 0) constants.push_back(read_constant(model[info.name], info));
    return constants;
  }

  ModelConstant read_constant(const JsonValue& entry, const ModelConstantInfo& info) const {
    if (entry.type != Type::object)
      fail(entry.line, info.name + " = " + entry.text(),
           "{\"value\": ..., \"unit\": ..., \"kind\": ..., \"source\": ...}, perhaps \"standard_error\"");
    check_fields(entry, info.name, {"value", "unit", "kind", "source"}, {"standard_error"});
    ModelConstant constant;
    constant.name = info.name;
    constant.unit = read_text(entry, "unit", info.name);
    if (constant.unit != info.unit)
      fail(entry["unit"].line, "unit of " + info.name + " = " + entry["unit"].text(), info.unit);
    constant.kind = read_text(entry, "kind", info.name);
    if (!is_one_of(constant.kind, model_kinds))
      fail(entry["kind"].line, "kind of " + info.name + " = " + entry["kind"].text(), list(model_kinds));
    constant.source = read_text(entry, "source", info.name);
    const JsonValue& value = entry["value"];
    constant.known = constant.kind != "undetermined";
    if (!constant.known && !value.is_null())
      fail(value.line, info.name + " = " + value.text() + " though it is undetermined", "null");
    if (constant.known && (value.type != Type::number || !std::isfinite(value.number) ||
                           (value.number <= 0 && !info.may_be_negative)))
      fail(value.line, info.name + " = " + value.text(),
           info.may_be_negative ? "a number" : "a number above 0, or null and the kind undetermined");
    constant.value = value.number;
    const JsonValue& error = entry["standard_error"];
    if (!error.is_null() && (error.type != Type::number || !std::isfinite(error.number) || error.number < 0))
      fail(error.line, "standard_error of " + info.name + " = " + error.text(), "a number from 0, or null");
    constant.standard_error = error.is_null() ? -1 : error.number;
    return constant;
  }

  const std::string& file_;
};

std::string constant_text(const ModelConstant& constant) {
  JsonObject entry;
  entry.raw("value", constant.known ? json_number(constant.value, 6) : "null");
  entry.add("unit", constant.unit);
  if (constant.standard_error >= 0) entry.add("standard_error", constant.standard_error, 6);
  entry.add("kind", constant.kind);
  entry.add("source", constant.source);
  return entry.text();
}

/// `"name": {`, a line an entry, `}`.
std::string section(const std::string& name, const std::vector<std::string>& lines) {
  std::string text = "  \"" + name + "\": {\n";
  for (std::size_t i = 0; i < lines.size(); ++i)
    text += "    " + lines[i] + (i + 1 < lines.size() ? ",\n" : "\n");
  return text + "  }";
}

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
    JsonObject entry;
    entry.raw("value", info.is_number() ? value.second : json_quote(value.second));
    entry.add("kind", evidence == nullptr ? "guessed" : evidence->kind);
    entry.add("source", evidence == nullptr ? "not said" : evidence->source);
    lines.push_back(json_quote(value.first) + ": " + entry.text());
  }
  std::string text = "{\n  \"phicoll\": \"machine\",\n  \"name\": " + json_quote(machine.name) +
                     ",\n  \"summary\": " + json_quote(machine.summary) + ",\n";
  if (machine.host.known()) {
    JsonObject host;
    host.add("cpu", machine.host.cpu);
    host.add("allowed_cpus", machine.host.allowed_cpus);
    host.add("clock_mhz", machine.host.clock_mhz);
    text += "  \"host\": " + host.text() + ",\n";
  }
  if (!machine.model.empty()) {
    std::vector<std::string> constants;
    for (const ModelConstant& one : machine.model)
      constants.push_back(json_quote(one.name) + ": " + constant_text(one));
    text += section("model", constants) + ",\n";
  }
  return text + section("parameters", lines) + "\n}\n";
}

}  // namespace sim
}  // namespace phicoll
