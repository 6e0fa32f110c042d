#include "phicoll/collectives/choosing/automatic.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "phicoll/collectives/choosing/tuning_table.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"

namespace phicoll {

namespace {

/// Whether a spec is written with such a part: a parameter, or one with its value.
bool gives(const std::string& text, const std::string& part) {
  return text.find(":" + part) != std::string::npos;
}

/// The size that a spec gives a parameter; 0, which is never, if it does not have it.
std::size_t size_in(const AlgorithmSpec& spec, const std::string& parameter) {
  for (const auto& value : spec.values)
    if (value.first == parameter) return static_cast<std::size_t>(std::stoull(value.second));
  return 0;
}

std::string group_text(int ranks, int cpus) {
  return std::to_string(ranks) + (ranks == 1 ? " rank on " : " ranks on ") + std::to_string(cpus) +
         (cpus == 1 ? " CPU" : " CPUs");
}

/// How many CPUs the ranks of a tuned group use, or may use if it is not known which they do.
int cpus_of(const Shape& shape) {
  if (!shape.oversubscribed()) return shape.tuning()->cpus;
  std::set<int> used;
  for (const CpuLocation& place : shape.places()) used.insert(place.cpu);
  return static_cast<int>(used.size());
}

}  // namespace

CallFacts asked_of(const AlgorithmSpec& spec, CallFacts facts) {
  if (spec.is_auto() && !spec.values.empty()) facts.in_rank_order = true;
  return facts;
}

AlgorithmSpec with_direct(AlgorithmSpec spec, const Shape& shape, Operation operation,
                          const std::string& text) {
  if (gives(text, std::string(direct_parameter) + "=") || size_in(spec, direct_parameter) != 0) return spec;
  const Tuning* const tuning = shape.tuning().get();
  const TuningRow* row = tuning == nullptr ? nullptr : tuning->table.in_place(shape, operation, tuning->mode);
  if (row == nullptr) row = default_rules().in_place(shape, operation, TuningMode::any);
  if (row == nullptr) return spec;
  for (const auto& given : row->values(shape))
    for (auto& value : spec.values)
      if (value.first == given.first && !gives(text, given.first + "=")) value.second = given.second;
  return spec;
}

AlgorithmChoice choose(const Shape& shape, const CallFacts& facts) {
  const TuningTable::Found found = default_rules().find(shape, facts, TuningMode::any, 1);
  if (found.row == nullptr)
    throw Error("defaults.tuning has no row for such a call");  // never: tests ask for all
  const AlgorithmSpec copied = found.row->spec(shape);
  AlgorithmChoice choice;
  choice.spec = with_direct(copied, shape, facts.operation, "");
  choice.why = found.row->why;
  choice.line = found.row->line;
  choice.least = found.least;
  choice.most = found.most;
  choice.numbers = found.numbers;
  if (choice.spec == copied) return choice;

  // Whether data of the call's size is moved in place, which it is from a size on. The choice is for the
  // sizes on this side.
  const auto reaches = [&](std::size_t from) {
    const bool below = facts.known && facts.bytes < from;
    if (below)
      choice.most = std::min(choice.most, from - 1);
    else if (facts.known)
      choice.least = std::max(choice.least, from);
    return from != 0 && !below;
  };
  const std::size_t direct = size_in(choice.spec, direct_parameter);
  const bool above = !facts.known || facts.bytes >= direct;
  if (direct != 0 && (above ? direct >= choice.least : direct - 1 < choice.most))
    choice.numbers +=
        (choice.numbers.empty() ? "direct=" : ", direct=") + std::to_string(shape.host().direct);
  const bool reads = reaches(direct);
  if (reaches(size_in(choice.spec, put_parameter)))
    choice.why += "; blocks are stored where they go if all ranks reach both buffers";
  if (reads) choice.why += "; large data that all ranks reach is read where it lies";
  return choice;
}

AlgorithmChoice automatic_choice(const Shape& shape, const CallFacts& facts, std::size_t most) {
  const Family& known = family(facts.operation);
  const auto fitting = [&](const AlgorithmSpec& spec) {
    return most != SIZE_MAX && moves_data(facts.operation) ? known.fitting(spec, shape, most) : spec;
  };
  TuningTable::Found found;
  // The rules' choice, for the sizes for which the table leaves it to them.
  const auto by_rule = [&](const std::string& because) {
    AlgorithmChoice choice = choose(shape, facts);
    choice.spec = fitting(choice.spec);
    if (!because.empty()) choice.why += " (by rule" + because + ")";
    choice.least = std::max(choice.least, found.least);
    choice.most = std::min(choice.most, found.most);
    return choice;
  };
  if (shape.tuning() == nullptr) return by_rule("");
  const Tuning& tuning = *shape.tuning();
  const std::string& table = tuning.table.name();
  const int cpus = cpus_of(shape);
  found = tuning.table.find(shape, facts, tuning.mode, cpus);
  if (found.ranks == 0)
    return by_rule(": " + table + " has no row for " + to_string(facts.operation) + " of " +
                   to_string(tuning.mode) + " that " + (shape.sharing() ? "share CPUs" : "have a CPU each"));
  const std::string nearest = found.exact ? ""
                                          : ", the nearest to " + group_text(shape.size(), cpus) +
                                                " of its " + group_text(found.ranks, found.cpus);
  if (found.row == nullptr) return by_rule(": " + table + " begins above so few bytes" + nearest);
  const TuningRow& row = *found.row;
  const std::string where = table + ", line " + std::to_string(row.line);
  if (row.is_auto()) return by_rule(", as " + where + " says" + nearest);

  const std::string its = ": " + row.given.substr(0, row.given.find(':')) + " of " + where;
  AlgorithmSpec spec;
  try {
    spec = row.spec(shape);
    known.check_fit(spec, shape, facts);
  } catch (const ArgumentError& error) {
    return by_rule(its + " cannot serve this: " + error.allowed());
  }
  // The table was tuned with pinned ranks, but here the system places them: a group for each CPU would hold
  // one rank.
  if (shape.crowded() && !shape.oversubscribed() &&
      (gives(spec.text(), "group=cpu") || gives(spec.text(), "group=nested")))
    return by_rule(its + " groups ranks by CPU, and which ranks share one is not known");
  AlgorithmChoice choice;
  choice.spec = fitting(with_direct(spec, shape, facts.operation, row.given));
  if (known.footprint(known.effective(choice.spec, shape), shape) > most)
    return by_rule(its + " has no room in " + std::to_string(most) + " bytes of the group's memory");
  choice.why = "tuned: " + where + nearest;
  choice.given = row.given;
  choice.least = found.least;
  choice.most = found.most;
  choice.numbers = found.numbers;
  return choice;
}

AlgorithmSpec in_effect(const AlgorithmSpec& spec, const Shape& shape, const CallFacts& facts,
                        std::size_t most) {
  const Family& known = family(facts.operation);
  AlgorithmSpec chosen = spec;
  if (spec.is_auto()) {
    chosen = automatic_choice(shape, asked_of(spec, facts), most).spec;
    chosen.wait_as(spec);
  }
  known.check_fit(chosen, shape, facts);
  return known.effective(chosen, shape);
}

}  // namespace phicoll
