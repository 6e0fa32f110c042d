#pragma once

// The definition of make_of. Included only by the unit of an operation, which instantiates all its algorithms
// on a port.

#include <memory>

#include "phicoll/collectives/contract/algorithm_list.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/collectives/registry/make.hpp"

namespace phicoll {

template <class Port>
std::unique_ptr<AnyCollective<Port>> make_from(AlgorithmList<>, const AlgorithmSpec&, const Setup&) {
  return nullptr;
}

template <class Port, class First, class... Rest>
std::unique_ptr<AnyCollective<Port>> make_from(AlgorithmList<First, Rest...>, const AlgorithmSpec& spec,
                                               const Setup& setup) {
  if (spec.name != First::facts().name) return make_from<Port>(AlgorithmList<Rest...>{}, spec, setup);
  typename First::Parameters p;
  ParameterParser parser(spec.name, spec.values);
  First::describe(parser, p);
  First::limit(p, setup.shape);
  return std::unique_ptr<AnyCollective<Port>>(new CollectiveOf<First, Port>(p, setup));
}

template <class Port, Operation operation>
std::unique_ptr<AnyCollective<Port>> make_of(const AlgorithmSpec& spec, const Setup& setup) {
  return make_from<Port>(typename Registry<operation>::List{}, spec, setup);
}

}  // namespace phicoll
