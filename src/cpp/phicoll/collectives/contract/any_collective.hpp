#pragma once

// One rank's side of an algorithm whose type is known only at run time.

#include <cstdlib>
#include <type_traits>
#include <utility>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

/// Entered through function pointers, which a caller may keep beside the object: that is one load less on the
/// way to the algorithm than a virtual call takes.
template <class Port>
class AnyCollective {
 public:
  using Enter = void (*)(AnyCollective&, Port&, const Call&);
  /// The entry without a call, of an algorithm whose Rank takes none: a barrier.
  using Bare = void (*)(AnyCollective&, Port&);

  virtual ~AnyCollective() = default;
  void operator()(Port& port, const Call& call) { enter_(*this, port, call); }
  /// Null where the Rank takes a call.
  Bare bare() const { return bare_; }
  // On strides of its own: what a Rank counts changes at every call.
  static void* operator new(std::size_t bytes) { return allocate_strided(bytes); }
  static void operator delete(void* memory) { std::free(memory); }

 protected:
  AnyCollective(Enter with_call, Bare without) : enter_(with_call), bare_(without) {}

 private:
  Enter enter_;
  Bare bare_;
};

template <class Algorithm, class Port>
class CollectiveOf final : public AnyCollective<Port> {
  using Any = AnyCollective<Port>;
  using Rank = typename Algorithm::template Rank<Port>;

  template <class R, class = void>
  struct TakesCall : std::false_type {};
  template <class R>
  struct TakesCall<R, decltype(static_cast<void>(std::declval<R&>()(
                          std::declval<Port&>(), std::declval<const Call&>())))> : std::true_type {};

 public:
  CollectiveOf(const typename Algorithm::Parameters& p, const Setup& setup)
      : CollectiveOf(p, setup, TakesCall<Rank>()) {}

 private:
  CollectiveOf(const typename Algorithm::Parameters& p, const Setup& setup, std::true_type)
      : Any([](Any& self, Port& port,
               const Call& call) { static_cast<CollectiveOf&>(self).rank_(port, call); },
            nullptr),
        rank_(p, setup) {}
  CollectiveOf(const typename Algorithm::Parameters& p, const Setup& setup, std::false_type)
      : Any([](Any& self, Port& port, const Call&) { static_cast<CollectiveOf&>(self).rank_(port); },
            [](Any& self, Port& port) { static_cast<CollectiveOf&>(self).rank_(port); }),
        rank_(p, setup) {}

  Rank rank_;
};

}  // namespace phicoll
