#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/contract/parameters.hpp"

#include <algorithm>

#include "phicoll/collectives/registry/families.hpp"
#include "phicoll/collectives/registry/signature.hpp"
#include "phicoll/collectives/registry/unknown_algorithm.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/support/nearest.hpp"
#include "phicoll/support/split.hpp"
#include "phicoll/support/text_hash.hpp"

namespace phicoll {

std::string AlgorithmSpec::text() const {
  std::string result = name;
  for (const auto& item : values) result += ":" + item.first + "=" + item.second;
  if (has_wait) result += ":wait=" + to_string(wait);
  return result;
}

void add_once(std::vector<AlgorithmSpec>& specs, AlgorithmSpec spec) {
  if (std::find(specs.begin(), specs.end(), spec) == specs.end()) specs.push_back(std::move(spec));
}

Family::Family(Operation operation, std::vector<Entry> entries, std::vector<AlgorithmSet> sets)
    : operation_(operation), entries_(std::move(entries)), sets_(std::move(sets)) {
  for (const Entry& entry : entries_) infos_.push_back(entry.info);
  // Families are made from the registries, so that adding a 32nd algorithm fails here.
  if (operation != Operation::barrier && infos_.size() >= 1u << name_bits)
    throw Error("the signature of a call has no room for so many algorithms");
}

const Family::Entry& Family::named(const std::string& name) const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (entry.info.name == name) return entry;
    names.push_back(entry.info.name);
  }
  throw UnknownAlgorithm("algorithm", "'" + name + "'", nearest_or_all(name, names));
}

AlgorithmSpec Family::parse(const std::string& text) const {
  const std::vector<std::string> parts = split(text, ':');
  const Entry& entry = named(parts[0]);
  ParameterValues given = given_values(parts);
  AlgorithmSpec waiting;
  for (std::size_t i = 0; i < given.size() && !waiting.has_wait; ++i) {
    if (given[i].first != "wait") continue;
    waiting.wait = parse_wait_policy(given[i].second);
    waiting.has_wait = true;
    given.erase(given.begin() + static_cast<std::ptrdiff_t>(i));
  }
  AlgorithmSpec spec = entry.parse(parts[0], given);
  spec.wait_as(waiting);
  return spec;
}

const AlgorithmSet* Family::set_named(const std::string& name) const {
  for (const AlgorithmSet& set : sets_)
    if (set.name == name || set.key == name) return &set;
  return nullptr;
}

void Family::refuse_set_of_others(const std::string& name) const {
  for (const AlgorithmInfo& info : infos_)
    if (info.name == name) return;
  std::string others;
  for (int i = 0; i < operations; ++i)
    if (family(static_cast<Operation>(i)).set_named(name) != nullptr)
      others += (others.empty() ? "" : ", ") + std::string(operation_rows[i].name);
  if (others.empty()) return;
  std::string own;
  for (const std::string& set : set_names()) own += set + ", ";
  throw ArgumentError("algorithm", "'" + name + "', whose algorithms are for " + others,
                      std::string("for ") + to_string(operation_) + ": " + own + "or an algorithm's name");
}

std::vector<AlgorithmSpec> Family::parse_list(const std::string& text) const {
  std::vector<AlgorithmSpec> specs;
  for (const std::string& part : split_list(text)) {
    const AlgorithmSet* const set = set_named(part);
    if (part == "all") {
      for (const AlgorithmInfo& info : infos_) add_once(specs, parse(info.name));
    } else if (set != nullptr) {
      for (const std::string& member : set->members) add_once(specs, parse(member));
    } else {
      refuse_set_of_others(part);
      add_once(specs, parse(part));
    }
  }
  return specs;
}

std::vector<std::string> Family::set_names() const {
  std::vector<std::string> names{"all"};
  for (const AlgorithmSet& set : sets_) names.push_back(set.name);
  return names;
}

AlgorithmSpec Family::effective(const AlgorithmSpec& spec, const Shape& shape) const {
  return named(spec.name).effective(spec, shape);
}

std::size_t Family::footprint(const AlgorithmSpec& spec, const Shape& shape) const {
  return named(spec.name).footprint(spec, shape);
}

AlgorithmSpec Family::fitting(const AlgorithmSpec& spec, const Shape& shape, std::size_t most) const {
  AlgorithmSpec smaller = effective(spec, shape);
  // Takes fewer cells first: a ring shorter than the caches is slow, but smaller pieces are slower. Where the
  // algorithm has an upper limit, a halving that changes nothing may be followed by one that does.
  for (const char* const name :
       {"cells", "slots", "pieces", "whole", "cell", "chunk", "piece", "part", "buffer"}) {
    AlgorithmSpec tried = smaller;
    while (footprint(smaller, shape) > most) {
      AlgorithmSpec next = tried;
      const auto found =
          std::find_if(next.values.begin(), next.values.end(),
                       [&](const std::pair<std::string, std::string>& value) { return value.first == name; });
      if (found == next.values.end()) break;
      found->second = std::to_string(std::stol(found->second) / 2);
      try {
        next = effective(parse(next.text()), shape);
      } catch (const ArgumentError&) {
        break;  // below what the algorithm takes
      }
      if (next == tried) break;
      tried = std::move(next);
      if (footprint(tried, shape) < footprint(smaller, shape)) smaller = tried;
    }
  }
  return smaller;
}

bool Family::fits(const AlgorithmSpec& spec, const Shape& shape, const CallFacts& facts) const {
  return named(spec.name).unfit(spec, shape, facts) == nullptr;
}

void Family::check_fit(const AlgorithmSpec& spec, const Shape& shape, const CallFacts& facts) const {
  if (const char* const why = named(spec.name).unfit(spec, shape, facts))
    throw ArgumentError("algorithm", spec.text() + " for this " + to_string(operation_), why);
}

constexpr unsigned Family::name_bits;

unsigned Family::number(const AlgorithmSpec& effective) const {
  const auto place = static_cast<unsigned>(&named(effective.name) - entries_.data());
  return (place + 1) | static_cast<unsigned>(text_hash(effective.text()) >> 58) << name_bits;
}

std::uint64_t Family::mark(const AlgorithmSpec& effective) const {
  const SignatureWord place = call_signature::algorithm.mask();
  return (text_hash(effective.text()) & ~place) | SignatureWord{number(effective)}
                                                      << call_signature::algorithm.at;
}

std::string Family::name_of(unsigned number) const {
  const unsigned place = number & ((1u << name_bits) - 1);
  return place != 0 && place <= infos_.size() ? infos_[place - 1].name : "no algorithm";
}

}  // namespace phicoll
