#pragma once

// An optional barrier after every call, for algorithms of papers that have one: velamati-2007 section 3.1
// synchronises at the end of each call so that successive ones do not interfere; its section 4 (ii) notes
// that counters make that unnecessary. Here they are counters, so the default is none.

#include <memory>

#include "phicoll/collectives/barrier/dissemination.hpp"

namespace phicoll {

enum class Trailing : unsigned char { none, barrier };

template <class Visitor>
void describe_trailing(Visitor& visitor, Trailing& trailing) {
  visitor.choice("trailing", trailing, {"none", "barrier"},
                 "whether all ranks meet in a barrier at the end of each call");
}

inline std::size_t trailing_footprint(Trailing trailing, const Shape& shape) {
  return trailing == Trailing::barrier ? Dissemination::footprint(Dissemination::Parameters{}, shape) : 0;
}

template <class Port>
class TrailingBarrier {
 public:
  TrailingBarrier(Trailing trailing, const Setup& setup, std::size_t offset) {
    if (trailing == Trailing::none) return;
    const Setup own{setup.rank, setup.shape, setup.memory + offset};
    barrier_.reset(new Dissemination::Rank<Port>(Dissemination::Parameters{}, own));
  }
  void operator()(Port& port) {
    if (barrier_) (*barrier_)(port);
  }

 private:
  std::unique_ptr<Dissemination::Rank<Port>> barrier_;
};

}  // namespace phicoll
