#pragma once

// Tuning tables drawn at random: any number, cost and row that the reader accepts.

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

/// An algorithm with any values of some of its parameters.
inline std::string any_spec(Random& random, Operation operation) {
  const auto& known = family(operation).algorithms();
  const AlgorithmInfo& info = known[random.below(known.size())];
  std::string text = info.name;
  for (const ParameterInfo& parameter : info.parameters) {
    if (random.below(2) == 0) continue;
    text += ":" + parameter.name + "=" +
            (parameter.choices.empty() ? std::to_string(any_value(random, parameter.least, parameter.most))
                                       : parameter.choices[random.below(parameter.choices.size())]);
  }
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
    const std::int64_t from =
        operation == Operation::barrier || random.below(2) == 0 ? 0 : any_value(random, 1, 1 << 20);
    const std::string row = std::string(to_string(operation)) +
                            (random.below(2) == 0 ? " threads " : " processes ") +
                            std::to_string(1 + random.below(6)) + "/" + std::to_string(1 + random.below(4)) +
                            " " + std::to_string(from) + " " + any_spec(random, operation) + "\n";
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
