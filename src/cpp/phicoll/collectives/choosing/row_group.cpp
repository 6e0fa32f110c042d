#include "phicoll/collectives/choosing/row_group.hpp"

#include <algorithm>
#include <iterator>

#include "phicoll/errors.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/support/digits.hpp"
#include "phicoll/support/nearest.hpp"
#include "phicoll/support/split.hpp"

namespace phicoll {

namespace {

constexpr int most_cpus = 1 << 20;

/// Whether each part of the machine at some level has ranks on at least two cores, and there are several such
/// parts.
bool in_several_parts(const Shape& shape, const CallFacts& /*facts*/) {
  const std::vector<int> cores = shape.groups(Level::core);
  for (const Level level : {Level::l3, Level::numa, Level::package}) {
    const std::vector<int> parts = shape.groups(level);
    std::vector<int> only_core;  // of each part; -1: it has several
    for (std::size_t r = 0; r < parts.size(); ++r) {
      const auto part = static_cast<std::size_t>(parts[r]);
      if (part == only_core.size()) only_core.push_back(cores[r]);
      if (cores[r] != only_core[part]) only_core[part] = -1;
    }
    const bool all = std::all_of(only_core.begin(), only_core.end(), [](int core) { return core < 0; });
    if (all && only_core.size() > 1) return true;
  }
  return false;
}

bool two_by_two(const Shape& shape, const CallFacts& /*facts*/) {
  const std::vector<int> cpus = shape.groups(Level::cpu);
  return std::all_of(cpus.begin(), cpus.end(),
                     [&](int cpu) { return std::count(cpus.begin(), cpus.end(), cpu) == 2; });
}

bool on_shared_cores(const Shape& shape, const CallFacts& /*facts*/) {
  const std::vector<int> cores = shape.groups(Level::core);  // numbered from 0
  return *std::max_element(cores.begin(), cores.end()) + 1 < shape.size();
}

bool pinned(const Shape& shape, const CallFacts& /*facts*/) {
  return shape.oversubscribed();
}

bool of_counts(const Shape& /*shape*/, const CallFacts& facts) {
  return facts.vector;
}

[[noreturn]] void refuse(const std::string& got) {
  throw ArgumentError("ranks/CPUs", "'" + got + "'",
                      "ranks/CPUs such as 8/2, of 1 to " + std::to_string(max_ranks) +
                          " ranks on 1 to 1048576 CPUs, or a rule such as 2/own, 9-64/shared, */any+counts");
}

}  // namespace

const std::vector<RowCondition>& row_conditions() {
  static const std::vector<RowCondition> all = {
      {"pinned", "it is known which ranks share a CPU", pinned},
      {"pairs", "two ranks on each CPU", two_by_two},
      {"cores", "some cores have several ranks", on_shared_cores},
      {"parts", "ranks are in several L3s, memory nodes or packages, on at least two cores in each",
       in_several_parts},
      {"counts", "a call with a count for each rank", of_counts},
  };
  return all;
}

RowGroup RowGroup::parse(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) refuse(text);
  const std::string ranks = text.substr(0, slash);
  const bool all = ranks == "*";
  const std::size_t dash = std::min(ranks.find('-'), ranks.size());
  RowGroup group;
  group.least = all ? 1 : static_cast<int>(whole_number(ranks.substr(0, dash), max_ranks));
  group.most = all || dash + 1 == ranks.size() ? max_ranks
               : dash == ranks.size()          ? group.least
                                      : static_cast<int>(whole_number(ranks.substr(dash + 1), max_ranks));
  if (group.least < 1 || group.most < group.least) refuse(text);

  const std::vector<std::string> parts = split(text.substr(slash + 1), '+');
  const auto* const word = std::find(std::begin(rule_cpus_words), std::end(rule_cpus_words), parts[0]);
  if (word != std::end(rule_cpus_words)) {
    group.sharing = static_cast<Cpus>(word - rule_cpus_words);
  } else {
    group.cpus = static_cast<int>(whole_number(parts[0], most_cpus));
    if (group.cpus < 1 || parts.size() > 1 || all || dash != ranks.size()) refuse(text);
    group.sharing = group.least > group.cpus ? Cpus::shared : Cpus::own;
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    std::vector<std::string> names;
    for (const RowCondition& condition : row_conditions()) {
      names.emplace_back(condition.name);
      if (parts[i] == condition.name) group.conditions.push_back(&condition);
    }
    if (group.conditions.size() < i)
      throw ArgumentError("ranks/CPUs", "condition '" + parts[i] + "'", nearest_or_all(parts[i], names));
  }
  return group;
}

std::string RowGroup::text() const {
  std::string all = least == 1 && most == max_ranks ? "*" : std::to_string(least);
  if (least != most && all != "*") all += "-" + (most == max_ranks ? "" : std::to_string(most));
  all += "/" + (by_rule() ? rule_cpus_words[static_cast<int>(sharing)] : std::to_string(cpus));
  for (const RowCondition* condition : conditions) all += std::string("+") + condition->name;
  return all;
}

bool RowGroup::serves(const Shape& shape, const CallFacts& facts) const {
  if (shape.size() < least || shape.size() > most) return false;
  if (sharing != Cpus::any && shape.sharing() != (sharing == Cpus::shared)) return false;
  return std::all_of(conditions.begin(), conditions.end(),
                     [&](const RowCondition* condition) { return condition->holds(shape, facts); });
}

bool operator==(const RowGroup& a, const RowGroup& b) {
  return a.least == b.least && a.most == b.most && a.cpus == b.cpus && a.sharing == b.sharing &&
         a.conditions == b.conditions;
}

}  // namespace phicoll
