#pragma once

// An optional barrier after every call, for algorithms of papers that have one: velamati-2007 section 3.1 synchronises
// at the end of each call so that successive ones do not interfere; its section 4 (ii) notes that counters make that
// unnecessary. Here they are counters, so the default is none. The barrier comes from the registry: the units of the
// operations that end with one need not be compiled again when it changes.

#include <memory>

#include "phicoll/collectives/contract/any_collective.hpp"
#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/registry/make.hpp"

namespace phicoll {

enum class Trailing : unsigned char { none, barrier };

template <class Visitor>
void describe_trailing(Visitor& visitor, Trailing& trailing) {
  visitor.choice("trailing", trailing, {"none", "barrier"},
                 "whether all ranks meet in a barrier at the end of each call");
}

inline AlgorithmSpec trailing_barrier() {
  return family(Operation::barrier).parse("dissemination");
}

inline std::size_t trailing_footprint(Trailing trailing, const Shape& shape) {
  return trailing == Trailing::barrier ? family(Operation::barrier).footprint(trailing_barrier(), shape) : 0;
}

template <class Port>
class TrailingBarrier {
 public:
  TrailingBarrier(Trailing trailing, const Setup& setup, std::size_t offset) {
    if (trailing == Trailing::none) return;
    const Setup own{setup.rank, setup.shape, setup.memory + offset};
    barrier_ = make_of<Port, Operation::barrier>(trailing_barrier(), own);
  }
  void operator()(Port& port) {
    if (barrier_) barrier_->bare()(*barrier_, port);
  }

 private:
  std::unique_ptr<AnyCollective<Port>> barrier_;
};

}  // namespace phicoll
