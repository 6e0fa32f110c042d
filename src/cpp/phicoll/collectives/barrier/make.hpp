#pragma once

// From a spec to one rank's barrier on one port. Included only where a port instantiates all algorithms.

#include <cstdlib>
#include <memory>

#include "phicoll/collectives/barrier/barrier.hpp"
#include "phicoll/collectives/barrier/registry.hpp"
#include "phicoll/collectives/choosing/automatic.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

/// One rank's side of some barrier. Entered through a function pointer that its caller may keep beside the
/// object: one load less on the way to the algorithm than a virtual call, whose own code has no indirect call
/// at all.
template <class Port>
class AnyBarrier {
 public:
  using Enter = void (*)(AnyBarrier&, Port&);

  virtual ~AnyBarrier() = default;
  void operator()(Port& port) { enter_(*this, port); }
  Enter enter() const { return enter_; }
  // On strides of its own: the episode number in it changes at every call.
  static void* operator new(std::size_t bytes) { return allocate_strided(bytes); }
  static void operator delete(void* memory) { std::free(memory); }

 protected:
  explicit AnyBarrier(Enter function) : enter_(function) {}

 private:
  Enter enter_;
};

template <class Algorithm, class Port>
class BarrierOf final : public AnyBarrier<Port> {
 public:
  BarrierOf(const typename Algorithm::Parameters& p, const Setup& setup)
      : AnyBarrier<Port>(
            [](AnyBarrier<Port>& self, Port& port) { static_cast<BarrierOf&>(self).rank_(port); }),
        rank_(p, setup) {}

 private:
  typename Algorithm::template Rank<Port> rank_;
};

template <class Port>
std::unique_ptr<AnyBarrier<Port>> make_from(AlgorithmList<>, const AlgorithmSpec&, const Setup&) {
  return nullptr;
}

template <class Port, class First, class... Rest>
std::unique_ptr<AnyBarrier<Port>> make_from(AlgorithmList<First, Rest...>, const AlgorithmSpec& spec,
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
std::unique_ptr<AnyBarrier<Port>> make_barrier(const AlgorithmSpec& spec, const Setup& setup) {
  return make_from<Port>(BarrierList{}, spec.name == "auto" ? automatic_barrier(setup.shape).spec : spec,
                         setup);
}

}  // namespace phicoll
