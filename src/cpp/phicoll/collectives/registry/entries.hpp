#pragma once

// From a registry's list of algorithm types to its Family. Included only by the unit of an operation.

#include <utility>
#include <vector>

#include "phicoll/collectives/contract/algorithm_list.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/registry/families.hpp"
#include "phicoll/errors.hpp"

namespace phicoll {

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
  if (facts.in_rank_order && !facts.associative && !Algorithm::in_rank_order(p))
    return "an algorithm that combines the operands one by one from rank 0 on";
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

template <class... Algorithms>
std::vector<Family::Entry> of(Operation operation, AlgorithmList<Algorithms...>) {
  return {Family::Entry{info_of<Algorithms>(), parse_as<Algorithms>, effective_as<Algorithms>,
                        footprint_as<Algorithms>, unfit_as<Algorithms>}...,
          auto_entry(operation)};
}

}  // namespace entries

template <Operation operation>
const Family& family_of() {
  static const Family known(operation, entries::of(operation, typename Registry<operation>::List{}),
                            sets_of<operation>());
  return known;
}

}  // namespace phicoll
