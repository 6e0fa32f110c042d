#pragma once

// How flags and counters become fit for the next episode.

#include <cstdint>

#include "phicoll/memory/policies.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

enum class Reset : unsigned char {
  episode,  ///< numbers that only grow: nothing is ever reset
  /// one-bit flags whose meaning flips (Mellor-Crummey and Scott; paper 001); of a flag tree two bits
  sense,
  unset,  ///< set by the rank that tells and unset by the rank that was told (papers 000 and 002)
};

/// The `reset` parameter of algorithms that have the first two.
template <class Visitor>
void describe_reset(Visitor& visitor, Reset& reset) {
  visitor.choice("reset", reset, {"episode", "sense"},
                 "flags that only grow, or one-bit flags whose sense flips");
}

/// The same for algorithms that have the first and the last.
template <class Visitor>
void describe_unset(Visitor& visitor, Reset& reset) {
  bool unset = reset == Reset::unset;
  visitor.choice("reset", unset, {"episode", "unset"},
                 "flags that only grow, or flags that the told rank unsets again");
  reset = unset ? Reset::unset : Reset::episode;
}

/// The same for algorithms that have all three, with what these mean there.
template <class Visitor>
void describe_every_reset(Visitor& visitor, Reset& reset, const char* what) {
  visitor.choice("reset", reset, {"episode", "sense", "unset"}, what);
}
template <class Visitor>
void describe_tree_reset(Visitor& visitor, Reset& reset) {
  describe_every_reset(visitor, reset,
                       "a flag that only grows, two bits that count its changes, or a flag set and unset");
}

/// Sets a counter to 0. No rank may arrive at it again before a release that this rank's later signal or
/// atomic addition precedes; that makes this store visible first. With a policy that stores whole lines, the
/// counter's line is also stored without being read (rodchenko-2015 section 4).
template <class Port>
void refill(Port& port, CounterLine& count, StorePolicy store) {
  if (store == StorePolicy::plain) return port.store_relaxed(count.word, std::uint64_t{0});
  const unsigned char empty[arch::line_bytes] = {};
  port.store_line(&count, empty, store);
}

}  // namespace phicoll
