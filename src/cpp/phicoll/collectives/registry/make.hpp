#pragma once

// From a spec to one rank's side of an algorithm that moves data, on one port. Included only where a port
// instantiates the algorithms of an operation.

#include <cstdlib>
#include <memory>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

/// One rank's side of some collective, entered through a function pointer (see AnyBarrier).
template <class Port>
class AnyCollective {
 public:
  using Enter = void (*)(AnyCollective&, Port&, const Call&);

  virtual ~AnyCollective() = default;
  void operator()(Port& port, const Call& call) { enter_(*this, port, call); }
  static void* operator new(std::size_t bytes) { return allocate_strided(bytes); }
  static void operator delete(void* memory) { std::free(memory); }

 protected:
  explicit AnyCollective(Enter function) : enter_(function) {}

 private:
  Enter enter_;
};

template <class Algorithm, class Port>
class CollectiveOf final : public AnyCollective<Port> {
 public:
  CollectiveOf(const typename Algorithm::Parameters& p, const Setup& setup)
      : AnyCollective<Port>([](AnyCollective<Port>& self, Port& port, const Call& call) {
          static_cast<CollectiveOf&>(self).rank_(port, call);
        }),
        rank_(p, setup) {}

 private:
  typename Algorithm::template Rank<Port> rank_;
};

template <class Port>
std::unique_ptr<AnyCollective<Port>> make_data(AlgorithmList<>, const AlgorithmSpec&, const Setup&) {
  return nullptr;
}

/// `spec` from Family::parse, not `auto`. The object refers to setup.memory, not to setup.shape.
template <class Port, class First, class... Rest>
std::unique_ptr<AnyCollective<Port>> make_data(AlgorithmList<First, Rest...>, const AlgorithmSpec& spec,
                                               const Setup& setup) {
  if (spec.name != First::facts().name) return make_data<Port>(AlgorithmList<Rest...>{}, spec, setup);
  typename First::Parameters p;
  ParameterParser parser(spec.name, spec.values);
  First::describe(parser, p);
  First::limit(p, setup.shape);
  return std::unique_ptr<AnyCollective<Port>>(new CollectiveOf<First, Port>(p, setup));
}

}  // namespace phicoll
