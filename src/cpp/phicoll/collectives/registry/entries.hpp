#pragma once

// From a registry's list of algorithm types to the entries of its Family. Included once for each operation.

#include <utility>
#include <vector>

#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/errors.hpp"

namespace phicoll {

/// What an algorithm that moves data need not say itself.
struct DataAlgorithm {
  /// Why these parameters do not go together, or null.
  template <class Parameters>
  static const char* refuse(const Parameters&) {
    return nullptr;
  }
  /// Why the algorithm cannot serve such a call, or null.
  template <class Parameters>
  static const char* unfit(const Parameters&, const Shape&, const CallFacts&) {
    return nullptr;
  }
  template <class Parameters>
  static void limit(Parameters&, const Shape&) {}
};

namespace entries {

template <class Algorithm>
typename Algorithm::Parameters parameters_of(const AlgorithmSpec& spec) {
  typename Algorithm::Parameters p;
  ParameterParser parser(spec.name, spec.values);
  Algorithm::describe(parser, p);
  return p;
}

template <class Algorithm>
AlgorithmSpec spec_of(const std::string& name, typename Algorithm::Parameters p) {
  ParameterLister lister;
  Algorithm::describe(lister, p);
  AlgorithmSpec spec;
  spec.name = name;
  spec.values = std::move(lister.values);
  return spec;
}

template <class Algorithm>
AlgorithmSpec parse_as(const std::string& name, const ParameterValues& given) {
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
AlgorithmSpec effective_as(const AlgorithmSpec& spec, const Shape& shape) {
  auto p = parameters_of<Algorithm>(spec);
  Algorithm::limit(p, shape);
  AlgorithmSpec result = spec_of<Algorithm>(spec.name, p);
  result.wait_as(spec);
  return result;
}

template <class Algorithm>
std::size_t footprint_as(const AlgorithmSpec& spec, const Shape& shape) {
  auto p = parameters_of<Algorithm>(spec);
  Algorithm::limit(p, shape);
  return Algorithm::footprint(p, shape);
}

template <class Algorithm>
const char* unfit_as(const AlgorithmSpec& spec, const Shape& shape, const CallFacts& facts) {
  auto p = parameters_of<Algorithm>(spec);
  Algorithm::limit(p, shape);
  return Algorithm::unfit(p, shape, facts);
}

template <class Algorithm>
AlgorithmInfo info_of() {
  const AlgorithmFacts facts = Algorithm::facts();
  typename Algorithm::Parameters defaults;
  ParameterLister lister;
  Algorithm::describe(lister, defaults);
  return AlgorithmInfo{facts.name, facts.origin, facts.source, facts.summary, std::move(lister.infos)};
}

template <class Algorithm>
Family::Entry data_entry_of() {
  return Family::Entry{info_of<Algorithm>(), parse_as<Algorithm>, effective_as<Algorithm>,
                       footprint_as<Algorithm>, unfit_as<Algorithm>};
}

/// `auto` of an operation that moves data: chosen for each call, so it has no memory and no parameters.
inline Family::Entry auto_entry() {
  return Family::Entry{
      AlgorithmInfo{
          "auto", Origin::phicoll, "phicoll", "for each call the one that a tuning table or rules take", {}},
      [](const std::string& name, const ParameterValues& given) {
        ParameterParser(name, given).refuse_unknown();
        AlgorithmSpec spec;
        spec.name = name;
        return spec;
      },
      [](const AlgorithmSpec& spec, const Shape&) { return spec; },
      [](const AlgorithmSpec&, const Shape&) { return std::size_t{0}; },
      [](const AlgorithmSpec&, const Shape&, const CallFacts&) -> const char* { return nullptr; }};
}

}  // namespace entries

/// The entries of a list of algorithms that move data, `auto` last.
template <class... Algorithms>
std::vector<Family::Entry> data_entries(AlgorithmList<Algorithms...>) {
  return {entries::data_entry_of<Algorithms>()..., entries::auto_entry()};
}

}  // namespace phicoll
