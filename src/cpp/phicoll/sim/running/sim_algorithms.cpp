#include "phicoll/sim/running/sim_algorithms.hpp"

#include <algorithm>

#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/subjects.hpp"
#include "phicoll/support/split.hpp"

namespace phicoll {
namespace sim {

namespace {

bool says_store(const std::string& text) {
  return text.find(":store=") != std::string::npos;
}

AlgorithmSpec stored_without_reading(Operation operation, const AlgorithmSpec& spec) {
  const auto is_store = [](const std::pair<std::string, std::string>& value) {
    return value.first == "store";
  };
  AlgorithmSpec stored = spec;
  const auto store = std::find_if(stored.values.begin(), stored.values.end(), is_store);
  if (store == stored.values.end()) return spec;
  store->second = "no-read";
  try {
    return family(operation).parse(stored.text());
  } catch (const ArgumentError&) {
    return spec;  // this layout's flags share their lines
  }
}

}  // namespace

AlgorithmSpec simulated_algorithm(Operation operation, const std::string& text) {
  const AlgorithmSpec spec = family(operation).parse(text);
  return says_store(text) ? spec : stored_without_reading(operation, spec);
}

std::vector<AlgorithmSpec> simulated_algorithms(Operation operation, const std::string& text,
                                                bool* left_out) {
  const std::string allowed = "algorithms of phicoll: those of other systems have no simulated form";
  std::vector<AlgorithmSpec> specs;
  *left_out = false;
  for (const std::string& part : split_list(text)) {
    if (part == "references") {
      *left_out = true;
      continue;
    }
    const std::string name = part.substr(0, part.find(':'));
    for (const AlgorithmInfo& info : measure::references(operation))
      if (info.name == name) throw ArgumentError("algorithm", "'" + name + "' with a machine", allowed);
    for (const AlgorithmSpec& spec : family(operation).parse_list(part))
      add_once(specs, says_store(part) ? spec : stored_without_reading(operation, spec));
  }
  if (specs.empty()) throw ArgumentError("algorithm", "'" + text + "' with a machine", allowed);
  return specs;
}

AlgorithmSpec simulated_choice(Operation operation, const AlgorithmChoice& choice) {
  // A row of a tuning table may say how its algorithm stores.
  return says_store(choice.given) ? choice.spec : stored_without_reading(operation, choice.spec);
}

AlgorithmSpec simulated_in_effect(const AlgorithmSpec& spec, const Shape& shape, const CallFacts& facts) {
  const Family& known = family(facts.operation);
  AlgorithmSpec chosen = spec;
  if (spec.is_auto()) {
    chosen = simulated_choice(facts.operation, automatic_choice(shape, asked_of(spec, facts)));
    chosen.wait_as(spec);
  }
  known.check_fit(chosen, shape, facts);
  return known.effective(chosen, shape);
}

}  // namespace sim
}  // namespace phicoll
