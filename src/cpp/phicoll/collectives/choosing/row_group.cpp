#include "phicoll/collectives/choosing/row_group.hpp"

#include <algorithm>
#include <set>

#include "phicoll/errors.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/support/digits.hpp"
#include "phicoll/support/nearest.hpp"

namespace phicoll {

namespace {

constexpr int most_cpus = 1 << 20;

/// Whether each part of the machine at some level has ranks on at least two cores, and there are several such
/// parts.
bool in_several_parts(const Shape& shape, const CallFacts& /*facts*/) {
  const std::vector<int> cores = shape.groups(Level::core);
  for (const Level level : {Level::l3, Level::numa, Level::package}) {
    const std::vector<int> parts = shape.groups(level);
    std::vector<int> core_of;  // of the first rank of each part
    std::vector<bool> has_two;
    for (std::size_t r = 0; r < parts.size(); ++r) {
      const auto part = static_cast<std::size_t>(parts[r]);
      if (part == core_of.size()) {
        core_of.push_back(cores[r]);
        has_two.push_back(false);
      }
      if (cores[r] != core_of[part]) has_two[part] = true;
    }
    if (has_two.size() > 1 && std::find(has_two.begin(), has_two.end(), false) == has_two.end()) return true;
  }
  return false;
}

bool two_by_two(const Shape& shape, const CallFacts& /*facts*/) {
  for (int r = 0; r < shape.size(); ++r) {
    int on_its_cpu = 0;
    for (int other = 0; other < shape.size(); ++other) on_its_cpu += shape.share_cpu(r, other) ? 1 : 0;
    if (on_its_cpu != 2) return false;
  }
  return true;
}

bool on_shared_cores(const Shape& shape, const CallFacts& /*facts*/) {
  const std::vector<int> cores = shape.groups(Level::core);
  return static_cast<int>(std::set<int>(cores.begin(), cores.end()).size()) < shape.size();
}

bool pinned(const Shape& shape, const CallFacts& /*facts*/) {
  return shape.oversubscribed();
}

bool of_counts(const Shape& /*shape*/, const CallFacts& facts) {
  return facts.vector;
}

std::string ranks_text(int least, int most) {
  if (least == 1 && most == max_ranks) return "*";
  if (least == most) return std::to_string(least);
  return std::to_string(least) + "-" + (most == max_ranks ? "" : std::to_string(most));
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
  RowGroup group;
  const std::size_t dash = ranks.find('-');
  const long long least = ranks == "*" ? 1 : whole_number(ranks.substr(0, dash), max_ranks);
  const long long most = ranks == "*" || dash + 1 == ranks.size() ? max_ranks
                         : dash == std::string::npos              ? least
                                                     : whole_number(ranks.substr(dash + 1), max_ranks);
  if (least < 1 || most < least) refuse(text);
  group.least = static_cast<int>(least);
  group.most = static_cast<int>(most);

  const std::size_t plus = std::min(text.find('+', slash), text.size());
  const std::string cpus = text.substr(slash + 1, plus - slash - 1);
  if (cpus == "own") {
    group.sharing = Cpus::own;
  } else if (cpus == "shared") {
    group.sharing = Cpus::shared;
  } else if (cpus != "any") {
    const long long number = whole_number(cpus, most_cpus);
    if (number < 1 || plus != text.size() || ranks == "*" || dash != std::string::npos) refuse(text);
    group.cpus = static_cast<int>(number);
    group.sharing = group.least > group.cpus ? Cpus::shared : Cpus::own;
  }
  for (std::size_t at = plus; at < text.size();) {
    const std::size_t end = std::min(text.find('+', at + 1), text.size());
    const std::string name = text.substr(at + 1, end - at - 1);
    std::vector<std::string> names;
    for (const RowCondition& condition : row_conditions()) {
      names.emplace_back(condition.name);
      if (name == condition.name) group.conditions.push_back(&condition);
    }
    if (std::find(names.begin(), names.end(), name) == names.end())
      throw ArgumentError("ranks/CPUs", "condition '" + name + "'", nearest_or_all(name, names));
    at = end;
  }
  return group;
}

std::string RowGroup::text() const {
  std::string all = ranks_text(least, most) + "/" +
                    (!by_rule()             ? std::to_string(cpus)
                     : sharing == Cpus::own ? "own"
                     : sharing == Cpus::any ? "any"
                                            : "shared");
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
