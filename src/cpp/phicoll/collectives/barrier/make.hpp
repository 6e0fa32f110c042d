#pragma once

// From a spec to one rank's barrier on one port. Included only where a port instantiates all algorithms.

#include <cstdlib>
#include <memory>

#include "phicoll/collectives/aligned_vector.hpp"
#include "phicoll/collectives/barrier/barrier.hpp"
#include "phicoll/collectives/barrier/registry.hpp"

namespace phicoll {

/// One rank's side of some barrier; a virtual call in front of the algorithm, whose own code has none.
template <class Port>
class AnyBarrier {
 public:
  virtual ~AnyBarrier() = default;
  virtual void operator()(Port& port) = 0;
  // On strides of its own: the episode number in it changes at every call.
  static void* operator new(std::size_t bytes) { return allocate_strided(bytes); }
  static void operator delete(void* memory) { std::free(memory); }
};

template <class Algorithm, class Port>
class BarrierOf final : public AnyBarrier<Port> {
 public:
  BarrierOf(const typename Algorithm::Parameters& p, const Setup& setup) : rank_(p, setup) {}
  void operator()(Port& port) override { rank_(port); }

 private:
  typename Algorithm::template Rank<Port> rank_;
};

template <class Port>
std::unique_ptr<AnyBarrier<Port>> make_from(AlgorithmList<>, const BarrierSpec&, const Setup&) {
  return nullptr;
}

template <class Port, class First, class... Rest>
std::unique_ptr<AnyBarrier<Port>> make_from(AlgorithmList<First, Rest...>, const BarrierSpec& spec,
                                            const Setup& setup) {
  if (spec.name != First::facts().name) return make_from<Port>(AlgorithmList<Rest...>{}, spec, setup);
  typename First::Parameters p;
  ParameterParser parser(spec.name, spec.values);
  First::describe(parser, p);
  First::limit(p, setup.shape);
  return std::unique_ptr<AnyBarrier<Port>>(new BarrierOf<First, Port>(p, setup));
}

/// `spec` from parse_barrier; `auto` is resolved here. The object refers to setup.memory, not to setup.shape.
template <class Port>
std::unique_ptr<AnyBarrier<Port>> make_barrier(const BarrierSpec& spec, const Setup& setup) {
  return make_from<Port>(BarrierList{}, spec.name == "auto" ? choose_barrier(setup.shape).spec : spec, setup);
}

}  // namespace phicoll
