#pragma once

// One rank's side of an algorithm whose type is known only at run time.

#include <cstdlib>
#include <type_traits>
#include <utility>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

/// An algorithm of any type. It is entered through function pointers, which a caller may keep beside the
/// object: one load less than a virtual call takes.
template <class Port>
class AnyCollective {
 public:
  using Enter = void (*)(AnyCollective&, Port&, const Call&);
  /// The entry of an algorithm whose Rank takes no call: a barrier.
  using Bare = void (*)(AnyCollective&, Port&);
  using Start = Started (*)(AnyCollective&, Port&, const Call&);

  virtual ~AnyCollective() = default;
  void operator()(Port& port, const Call& call) { enter_(*this, port, call); }
  /// Null where the Rank takes a call.
  Bare bare() const { return bare_; }
  /// The call in two parts (algorithm.hpp). A barrier ignores the Call.
  Started start(Port& port, const Call& call) { return start_(*this, port, call); }
  void complete(Port& port, const Call& call) { complete_(*this, port, call); }
  /// The line to ask for at the beginning of a call. Where the algorithm names none it is the object's own,
  /// which costs nothing.
  const void* first_line() const { return first_line_; }
  // Allocates on strides of its own, since a Rank's counters change at every call.
  static void* operator new(std::size_t bytes) { return allocate_strided(bytes); }
  static void operator delete(void* memory) { std::free(memory); }

 protected:
  AnyCollective(Enter with_call, Bare without, Start first_part = &never, Enter rest = nullptr)
      : enter_(with_call), bare_(without), start_(first_part), complete_(rest) {}
  void name_first_line(const void* line) {
    if (line != nullptr) first_line_ = line;
  }

 private:
  static Started never(AnyCollective&, Port&, const Call&) { return Started::no; }

  Enter enter_;
  Bare bare_;
  Start start_;
  Enter complete_;
  const void* first_line_ = this;
};

template <class Algorithm, class Port>
class CollectiveOf final : public AnyCollective<Port> {
  using Any = AnyCollective<Port>;
  using Rank = typename Algorithm::template Rank<Port>;

  // What a Rank offers.
  template <class R, class = void>
  struct TakesCall : std::false_type {};
  template <class R>
  struct TakesCall<R, decltype(static_cast<void>(std::declval<R&>()(
                          std::declval<Port&>(), std::declval<const Call&>())))> : std::true_type {};
  template <class R, class = void>
  struct StartsCall : std::false_type {};
  template <class R>
  struct StartsCall<R, decltype(static_cast<void>(std::declval<R&>().start(
                           std::declval<Port&>(), std::declval<const Call&>())))> : std::true_type {};
  template <class R, class = void>
  struct StartsBare : std::false_type {};
  template <class R>
  struct StartsBare<R, decltype(static_cast<void>(std::declval<R&>().start(std::declval<Port&>())))>
      : std::true_type {};
  enum Form { takes_call, starts_call, bare, starts_bare };
  template <Form form>
  using Is = std::integral_constant<Form, form>;
  static Rank& rank_of(Any& self) { return static_cast<CollectiveOf&>(self).rank_; }

 public:
  CollectiveOf(const typename Algorithm::Parameters& p, const Setup& setup)
      : CollectiveOf(p, setup,
                     Is < TakesCall<Rank>::value ? (StartsCall<Rank>::value ? starts_call : takes_call)
                     : StartsBare<Rank>::value   ? starts_bare
                                                 : bare > ()) {
    this->name_first_line(Algorithm::first_line(setup));
  }

 private:
  static void enter(Any& self, Port& port, const Call& call) { rank_of(self)(port, call); }
  static void enter_bare(Any& self, Port& port) { rank_of(self)(port); }
  static void without_call(Any& self, Port& port, const Call&) { rank_of(self)(port); }

  CollectiveOf(const typename Algorithm::Parameters& p, const Setup& setup, Is<takes_call>)
      : Any(&enter, nullptr), rank_(p, setup) {}
  CollectiveOf(const typename Algorithm::Parameters& p, const Setup& setup, Is<starts_call>)
      : Any(
            &enter, nullptr,
            [](Any& self, Port& port, const Call& call) { return rank_of(self).start(port, call); },
            [](Any& self, Port& port, const Call& call) { rank_of(self).complete(port, call); }),
        rank_(p, setup) {}
  CollectiveOf(const typename Algorithm::Parameters& p, const Setup& setup, Is<bare>)
      : Any(&without_call, &enter_bare), rank_(p, setup) {}
  CollectiveOf(const typename Algorithm::Parameters& p, const Setup& setup, Is<starts_bare>)
      : Any(
            &without_call, &enter_bare,
            [](Any& self, Port& port, const Call&) { return rank_of(self).start(port); },
            [](Any& self, Port& port, const Call&) { rank_of(self).complete(port); }),
        rank_(p, setup) {}

  Rank rank_;
};

}  // namespace phicoll
