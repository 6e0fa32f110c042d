#pragma once

// Tuning tables drawn at random: any number, cost, measured row and rule that the reader accepts.

#include <algorithm>
#include <string>

#include "phicoll/collectives/choosing/tuning_table.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/memory/host_numbers.hpp"
#include "phicoll/memory/line_costs.hpp"
#include "phicoll/support/random.hpp"

namespace phicoll {

/// From `least` to `most`: an end, or of any magnitude between them.
inline std::int64_t any_value(Random& random, std::int64_t least, std::int64_t most) {
  switch (random.below(4)) {
    case 0:
      return least;
    case 1:
      return most;
    default: {
      const auto range = static_cast<std::uint64_t>(most - least);
      int bits = 0;
      while (bits < 63 && range >> bits != 0) ++bits;
      const std::uint64_t drawn =
          random.next() >> (64 - 1 - random.below(static_cast<std::uint64_t>(bits) + 1));
      return least + static_cast<std::int64_t>(std::min(drawn, range));
    }
  }
}

/// A number, or one by the host's numbers and the ranks.
inline std::string any_expression(Random& random, int deepest = 3) {
  const auto part = [&] { return any_expression(random, deepest - 1); };
  switch (deepest == 0 ? random.below(3) : random.below(7)) {
    case 0:
      return std::to_string(any_value(random, 0, std::int64_t{1} << 47));
    case 1:
      return "ranks";
    case 2:
      for (;;) {
        const auto& field =
            host_number_fields[random.below(sizeof host_number_fields / sizeof *host_number_fields)];
        if (field.least > 0) return field.name;
      }
    case 3:
      return part() + "+" + part();
    case 4:
      return part() + "*" + part();
    case 5:
      return part() + "/" + (random.below(2) == 0 ? part() : "(" + part() + ")");
    default:
      return "max(" + part() + "," + part() + ")";
  }
}

/// ":name=value", which a rule may compute.
inline std::string any_part(Random& random, const ParameterInfo& parameter, bool by_rule) {
  const std::string name = ":" + parameter.name + "=";
  if (!parameter.choices.empty()) return name + parameter.choices[random.below(parameter.choices.size())];
  if (by_rule && random.below(2) == 0) return name + "{" + any_expression(random) + "}";
  return name + std::to_string(any_value(random, parameter.least, parameter.most));
}

/// An algorithm with any values of some of its parameters.
inline std::string any_spec(Random& random, Operation operation, bool by_rule) {
  const auto& known = family(operation).algorithms();
  const AlgorithmInfo& info = known[random.below(known.size())];
  std::string text = info.name;
  for (const ParameterInfo& parameter : info.parameters)
    if (random.below(2) != 0) text += any_part(random, parameter, by_rule);
  return text;
}

/// Parameters in place of any algorithm: "direct=4096:far=copied".
inline std::string any_in_place(Random& random, Operation operation) {
  const auto& known = family(operation).algorithms();
  std::string text;
  for (const ParameterInfo& parameter : known[random.below(known.size())].parameters)
    if (parameter.name == "direct" || parameter.name == "far" || parameter.name == "put")
      text += any_part(random, parameter, true);
  return text.empty() ? "direct={direct}" : text.substr(1);
}

/// Which groups a rule is for: "2-4/own+parts".
inline std::string any_groups(Random& random) {
  const std::string least = std::to_string(1 + random.below(6));
  std::string text;
  for (const std::string& ranks : {std::string("*"), least, least + "-", least + "-9"})
    if (text.empty() || random.below(2) == 0) text = ranks;
  const char* const cpus[] = {"/any", "/own", "/shared"};
  text += cpus[random.below(3)];
  for (const RowCondition& condition : row_conditions())
    if (random.below(6) == 0) text += std::string("+") + condition.name;
  return text;
}

inline std::string random_table(std::uint64_t seed) {
  Random random(seed);
  std::string table = "phicoll tuning 1\n";
  // A group may do without numbers, or without rows.
  if (random.below(4) != 0)
    for (const HostNumberField& field : host_number_fields)
      if (random.below(2) == 0)
        table += std::string("number ") + field.name + " " +
                 std::to_string(any_value(random, field.least, field.most)) + "\n";
  for (const LineCostField& field : line_cost_fields) {
    std::string name = field.name;
    std::replace(name.begin(), name.end(), '_', '-');
    if (random.below(3) == 0)
      table += "cost " + name + " " + std::to_string(any_value(random, 0, most_line_cost)) + "\n";
  }
  for (std::uint64_t rows = random.below(3) == 0 ? 0 : random.below(40); rows > 0; --rows) {
    const auto operation = static_cast<Operation>(random.below(operations));
    const bool sizes = operation != Operation::barrier, by_rule = random.below(2) == 0;
    const bool in_place = sizes && by_rule && random.below(4) == 0;
    const std::string from = in_place                         ? "in-place"
                             : !sizes || random.below(2) == 0 ? "0"
                             : by_rule && random.below(2) == 0
                                 ? any_expression(random)
                                 : std::to_string(any_value(random, 1, 1 << 20));
    const char* const modes[] = {" threads ", " processes ", " any "};
    const std::string row =
        to_string(operation) + std::string(modes[random.below(3)]) +
        (by_rule ? any_groups(random)
                 : std::to_string(1 + random.below(6)) + "/" + std::to_string(1 + random.below(4))) +
        " " + from + " " +
        (in_place ? any_in_place(random, operation) : any_spec(random, operation, by_rule)) + "\n";
    try {
      TuningTable::parse(table + row, "drawn");
      table += row;
    } catch (const ArgumentError&) {
      // Parameters that do not go together, or a second row for these calls.
    }
  }
  return table;
}

}  // namespace phicoll
