#include <cstdio>

#include "bench/command_line.hpp"
#include "bench/commands.hpp"
#include "bench/list_machines.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/subjects.hpp"
#include "phicoll/support/json.hpp"

namespace phicoll {
namespace bench {

namespace {

std::string as_json(Operation operation, const AlgorithmInfo& info) {
  std::vector<std::string> parameters;
  const auto parameter = [&](const ParameterInfo& p) {
    JsonObject object;
    object.add("name", p.name)
        .add("range", p.range())
        .add("default", p.default_value)
        .add("meaning", p.meaning);
    if (p.choices.empty())
      object.add("least", static_cast<std::int64_t>(p.least)).add("most", static_cast<std::int64_t>(p.most));
    else
      object.raw("choices", json_strings(p.choices));
    parameters.push_back(object.text());
  };
  for (const ParameterInfo& p : info.parameters) parameter(p);
  if (info.origin != Origin::reference)
    parameters.push_back(JsonObject()
                             .add("name", "wait")
                             .add("range", "spin, pause, pause(n), yield, adaptive")
                             .add("default", "adaptive")
                             .add("meaning", "how a rank waits; the group's policy where it is not given")
                             .text());
  return JsonObject()
      .add("name", info.name)
      .add("operation", to_string(operation))
      .add("origin", to_string(info.origin))
      .add("source", info.source)
      .add("summary", info.summary)
      .raw("parameters", json_list(parameters))
      .text();
}

void list_programs(bool json) {
  std::vector<std::string> rows;
  for (const programs::ProgramInfo& info : programs::program_infos()) {
    JsonObject classes;
    std::string told;
    for (const programs::ProblemClass& one : info.classes) {
      classes.add(std::string(1, one.letter), one.size);
      told += std::string(told.empty() ? "    " : "; ") + one.letter + ": " + one.size;
    }
    JsonObject ways;
    for (const programs::ProgramWay& one : info.facts.ways) {
      ways.add(one.name, one.meaning);
      told += std::string("\n    --way ") + one.name + ": " + one.meaning;
    }
    rows.push_back(JsonObject()
                       .add("name", info.facts.name)
                       .add("operation", to_string(info.facts.operation))
                       .add("source", info.facts.source)
                       .add("summary", info.facts.summary)
                       .raw("classes", classes.text())
                       .raw("ways", ways.text())
                       .text());
    if (!json)
      std::printf("%-12s %s\n    (%s)\n%s\n", info.facts.name, info.facts.summary, info.facts.source,
                  told.c_str());
  }
  if (json) std::puts(json_list(rows).c_str());
}

}  // namespace

int list_command(const std::vector<std::string>& words) {
  const CommandLine arguments(words, command_page("list"));
  const std::vector<std::string>& what = arguments.alone();
  const bool one_machine = !what.empty() && what[0] == "machine";
  if (one_machine && what.size() == 1) throw ArgumentError("machine", "none", "a name or file after it");
  if (what.size() > (one_machine ? 2u : 1u))
    throw ArgumentError("list", "'" + what.back() + "' after '" + what[what.size() - 2] + "'",
                        "one thing to list");
  if (one_machine || (!what.empty() && what[0] == "machines")) {
    list_machines(one_machine ? what[1] : "", arguments.has("--json"));
    return 0;
  }
  if (!what.empty() && what[0] == "programs") {
    list_programs(arguments.has("--json"));
    return 0;
  }
  const std::string name = what.empty() ? "barrier" : what[0];
  Operation operation;
  try {
    operation = measure::parse_call(name).operation;
  } catch (const ArgumentError& error) {
    throw ArgumentError("operation", error.got(), error.allowed() + ", programs, machines, machine NAME");
  }
  std::vector<AlgorithmInfo> infos = family(operation).algorithms();
  for (const AlgorithmInfo& info : measure::references(operation)) infos.push_back(info);
  if (arguments.has("--json")) {
    std::puts("[");
    for (std::size_t i = 0; i < infos.size(); ++i)
      std::printf("%s%s\n", as_json(operation, infos[i]).c_str(), i + 1 < infos.size() ? "," : "");
    std::puts("]");
    return 0;
  }
  for (const AlgorithmInfo& info : infos) {
    std::printf("%-28s %-10s %s\n", info.name.c_str(), to_string(info.origin), info.summary.c_str());
    std::printf("%-28s %-10s (%s)\n", "", "", info.source.c_str());
    for (const ParameterInfo& p : info.parameters)
      std::printf("    %s = %s (%s): %s\n", p.name.c_str(), p.default_value.c_str(), p.range().c_str(),
                  p.meaning.c_str());
  }
  std::string sets;
  for (const std::string& set : family(operation).set_names()) sets += set + ", ";
  std::printf("sets: %sreferences\n", sets.c_str());
  return 0;
}

}  // namespace bench
}  // namespace phicoll
