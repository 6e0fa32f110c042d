#include "phicoll/collectives/choosing/automatic.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "phicoll/collectives/choosing/choose.hpp"
#include "phicoll/collectives/choosing/tuning_table.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"

namespace phicoll {

namespace {

AlgorithmChoice by_rules(const Shape& shape, const CallFacts& facts, std::size_t most) {
  AlgorithmChoice choice = choose(shape, facts);
  if (most != SIZE_MAX && moves_data(facts.operation))
    choice.spec = family(facts.operation).fitting(choice.spec, shape, most);
  return choice;
}

std::string group_text(int ranks, int cpus) {
  return std::to_string(ranks) + (ranks == 1 ? " rank on " : " ranks on ") + std::to_string(cpus) +
         (cpus == 1 ? " CPU" : " CPUs");
}

bool groups_by_cpu(const AlgorithmSpec& spec) {
  for (const auto& value : spec.values)
    if (value.first == "group" && (value.second == "cpu" || value.second == "nested")) return true;
  return false;
}

/// The rules' choice, limited to the sizes for which the table leaves it to them.
AlgorithmChoice rules_within(const Shape& shape, const CallFacts& facts, std::size_t most,
                             const TuningTable::Found& found, const std::string& because) {
  AlgorithmChoice choice = by_rules(shape, facts, most);
  choice.why += " (" + because + ")";
  choice.least = std::max(choice.least, found.least);
  choice.most = std::min(choice.most, found.most);
  return choice;
}

}  // namespace

AlgorithmChoice automatic_choice(const Shape& shape, const CallFacts& facts, std::size_t most) {
  if (shape.tuning() == nullptr) return by_rules(shape, facts, most);
  const Tuning& tuning = *shape.tuning();
  const TuningTable& table = tuning.table;
  const bool sharing = shape.sharing();
  int cpus = tuning.cpus;
  if (shape.oversubscribed()) {
    std::set<int> used;
    for (const Place& place : shape.places()) used.insert(place.cpu);
    cpus = static_cast<int>(used.size());
  }
  const TuningTable::Found found = table.find(shape, facts, tuning.mode, cpus);
  if (found.ranks == 0)
    return rules_within(shape, facts, most, found,
                        "by rule: " + table.name() + " has no row for " + to_string(facts.operation) +
                            " of " + to_string(tuning.mode) + " that " +
                            (sharing ? "share CPUs" : "have a CPU each"));
  std::string nearest;
  if (!found.exact)
    nearest = ", the nearest to " + group_text(shape.size(), cpus) + " of its " +
              group_text(found.ranks, found.cpus);
  if (found.row == nullptr)
    return rules_within(shape, facts, most, found,
                        "by rule: " + table.name() + " begins above so few bytes" + nearest);
  const TuningRow& row = *found.row;
  const std::string where = table.name() + ", line " + std::to_string(row.line);
  if (row.is_auto())
    return rules_within(shape, facts, most, found, "by rule, as " + where + " says" + nearest);

  const Family& known = family(facts.operation);
  AlgorithmChoice choice;
  const AlgorithmSpec spec = row.spec(shape);
  choice.spec = with_direct(spec, shape, facts.operation, row.given);
  choice.given = row.given;
  choice.least = found.least;
  choice.most = found.most;
  choice.numbers = found.numbers;
  try {
    known.check_fit(spec, shape, facts);
  } catch (const ArgumentError& error) {
    const std::string text = error.what();
    const std::size_t allowed = text.find("; allowed: ");
    return rules_within(shape, facts, most, found,
                        "by rule: " + spec.name + " of " + where + " cannot serve this: " +
                            (allowed == std::string::npos ? text : text.substr(allowed + 11)));
  }
  // The table was tuned with pinned ranks, but here the system places them: a group for each CPU would hold
  // one rank.
  if (shape.crowded() && !shape.oversubscribed() && groups_by_cpu(spec))
    return rules_within(shape, facts, most, found,
                        "by rule: " + spec.name + " of " + where +
                            " groups ranks by CPU, and which ranks share one is not known");
  if (most != SIZE_MAX && moves_data(facts.operation)) choice.spec = known.fitting(choice.spec, shape, most);
  if (known.footprint(known.effective(choice.spec, shape), shape) > most)
    return rules_within(shape, facts, most, found,
                        "by rule: " + spec.name + " of " + where + " has no room in " + std::to_string(most) +
                            " bytes of the group's memory");
  choice.why = "tuned: " + where + nearest;
  return choice;
}

AlgorithmSpec in_effect(const AlgorithmSpec& spec, const Shape& shape, const CallFacts& facts,
                        std::size_t most) {
  const Family& known = family(facts.operation);
  AlgorithmSpec chosen = spec;
  if (spec.name == "auto") {
    chosen = automatic_choice(shape, facts, most).spec;
    chosen.wait_as(spec);
  }
  known.check_fit(chosen, shape, facts);
  return known.effective(chosen, shape);
}

}  // namespace phicoll
