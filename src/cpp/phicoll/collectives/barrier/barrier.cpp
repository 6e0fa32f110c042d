#include "phicoll/collectives/barrier/barrier.hpp"

#include <algorithm>

#include "phicoll/collectives/barrier/registry.hpp"
#include "phicoll/collectives/barrier/sets.hpp"
#include "phicoll/collectives/nearest.hpp"
#include "phicoll/collectives/split.hpp"
#include "phicoll/errors.hpp"

namespace phicoll {

namespace {

/// What one registry line gives without a port.
struct Entry {
  AlgorithmInfo info;
  BarrierSpec (*parse)(const std::string& name, const ParameterValues& given);
  BarrierSpec (*effective)(const BarrierSpec& spec, const Shape& shape);
  std::size_t (*footprint)(const BarrierSpec& spec, const Shape& shape);
};

template <class Algorithm>
typename Algorithm::Parameters parameters_of(const BarrierSpec& spec) {
  typename Algorithm::Parameters p;
  ParameterParser parser(spec.name, spec.values);
  Algorithm::describe(parser, p);
  return p;
}

template <class Algorithm>
BarrierSpec spec_of(const std::string& name, typename Algorithm::Parameters p) {
  ParameterLister lister;
  Algorithm::describe(lister, p);
  BarrierSpec spec;
  spec.name = name;
  spec.values = std::move(lister.values);
  return spec;
}

template <class Algorithm>
BarrierSpec parse_as(const std::string& name, const ParameterValues& given) {
  typename Algorithm::Parameters p;
  ParameterParser parser(name, given);
  Algorithm::describe(parser, p);
  parser.refuse_unknown();
  if (const char* allowed = Algorithm::refuse(p)) {
    std::string got;
    for (const auto& item : given) got += (got.empty() ? "" : ":") + item.first + "=" + item.second;
    throw ArgumentError(name, "'" + got + "'", allowed);
  }
  return spec_of<Algorithm>(name, p);
}

template <class Algorithm>
BarrierSpec effective_as(const BarrierSpec& spec, const Shape& shape) {
  auto p = parameters_of<Algorithm>(spec);
  Algorithm::limit(p, shape);
  BarrierSpec result = spec_of<Algorithm>(spec.name, p);
  result.has_wait = spec.has_wait;
  result.wait = spec.wait;
  return result;
}

template <class Algorithm>
std::size_t footprint_as(const BarrierSpec& spec, const Shape& shape) {
  auto p = parameters_of<Algorithm>(spec);
  Algorithm::limit(p, shape);
  return Algorithm::footprint(p, shape);
}

template <class Algorithm>
Entry entry_of() {
  const AlgorithmFacts facts = Algorithm::facts();
  typename Algorithm::Parameters defaults;
  ParameterLister lister;
  Algorithm::describe(lister, defaults);
  Entry entry;
  entry.info = AlgorithmInfo{facts.name, facts.origin, facts.source, facts.summary, std::move(lister.infos)};
  entry.parse = parse_as<Algorithm>;
  entry.effective = effective_as<Algorithm>;
  entry.footprint = footprint_as<Algorithm>;
  return entry;
}

template <class... Algorithms>
std::vector<Entry> entries_of(AlgorithmList<Algorithms...>) {
  return {entry_of<Algorithms>()...};
}

BarrierSpec parse_auto(const std::string& name, const ParameterValues& given) {
  ParameterParser parser(name, given);
  parser.refuse_unknown();
  BarrierSpec spec;
  spec.name = name;
  return spec;
}

BarrierSpec resolve_auto(const BarrierSpec& spec, const Shape& shape) {
  BarrierSpec chosen = effective_barrier(choose_barrier(shape).spec, shape);
  if (spec.has_wait) {
    chosen.has_wait = true;
    chosen.wait = spec.wait;
  }
  return chosen;
}

std::size_t footprint_auto(const BarrierSpec&, const Shape& shape) {
  return barrier_footprint(choose_barrier(shape).spec, shape);
}

const std::vector<Entry>& entries() {
  static const std::vector<Entry> all = [] {
    std::vector<Entry> list = entries_of(BarrierList{});
    list.push_back(
        {AlgorithmInfo{
             "auto", Origin::phicoll, "phicoll", "the one that rules take for the group's shape", {}},
         parse_auto, resolve_auto, footprint_auto});
    return list;
  }();
  return all;
}

const Entry& entry_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Entry& entry : entries()) {
    if (entry.info.name == name) return entry;
    names.push_back(entry.info.name);
  }
  throw ArgumentError("algorithm", "'" + name + "'", nearest_or_all(name, names));
}

}  // namespace

std::string BarrierSpec::text() const {
  std::string result = name;
  for (const auto& item : values) result += ":" + item.first + "=" + item.second;
  if (has_wait) result += ":wait=" + to_string(wait);
  return result;
}

const std::vector<AlgorithmInfo>& barrier_algorithms() {
  static const std::vector<AlgorithmInfo> infos = [] {
    std::vector<AlgorithmInfo> list;
    for (const Entry& entry : entries()) list.push_back(entry.info);
    return list;
  }();
  return infos;
}

BarrierSpec parse_barrier(const std::string& text) {
  const std::vector<std::string> parts = split(text, ':');
  const Entry& entry = entry_named(parts[0]);
  ParameterValues given;
  bool has_wait = false;
  WaitPolicy wait;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    if (equals == std::string::npos || equals == 0)
      throw ArgumentError(parts[0], "'" + parts[i] + "'", "parameter=value, separated by colons");
    const std::string key = parts[i].substr(0, equals);
    const std::string value = parts[i].substr(equals + 1);
    for (const auto& earlier : given)
      if (earlier.first == key) throw ArgumentError(parts[0] + ":" + key, "two values", "one");
    if (key == "wait") {
      if (has_wait) throw ArgumentError(parts[0] + ":wait", "two values", "one");
      wait = parse_wait_policy(value);
      has_wait = true;
    } else {
      given.emplace_back(key, value);
    }
  }
  BarrierSpec spec = entry.parse(parts[0], given);
  spec.has_wait = has_wait;
  spec.wait = wait;
  return spec;
}

std::vector<BarrierSpec> parse_barriers(const std::string& text) {
  std::vector<BarrierSpec> specs;
  std::vector<std::string> texts;
  const auto add = [&](BarrierSpec spec) {
    std::string canonical = spec.text();
    if (std::find(texts.begin(), texts.end(), canonical) != texts.end()) return;
    texts.push_back(std::move(canonical));
    specs.push_back(std::move(spec));
  };
  for (const std::string& part : split(text, ',')) {
    if (part == "all") {
      for (const Entry& entry : entries()) add(parse_barrier(entry.info.name));
    } else if (const BarrierSet* set = find_barrier_set(part)) {
      for (const std::string& member : set->members) add(parse_barrier(member));
    } else {
      add(parse_barrier(part));
    }
  }
  return specs;
}

std::vector<std::string> barrier_sets() {
  std::vector<std::string> names{"all"};
  for (const BarrierSet& set : all_barrier_sets()) names.push_back(set.name);
  return names;
}

BarrierSpec effective_barrier(const BarrierSpec& spec, const Shape& shape) {
  return entry_named(spec.name).effective(spec, shape);
}

std::size_t barrier_footprint(const BarrierSpec& spec, const Shape& shape) {
  return entry_named(spec.name).footprint(spec, shape);
}

}  // namespace phicoll
