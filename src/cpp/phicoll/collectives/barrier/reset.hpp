#pragma once

// How a barrier's flags become fit for the next episode.

namespace phicoll {

enum class Reset : unsigned char {
  episode,  ///< flags are episode numbers that only grow: nothing is ever reset
  sense,    ///< one-bit flags whose meaning flips (Mellor-Crummey and Scott; paper 001)
};

template <class Visitor>
void describe_reset(Visitor& visitor, Reset& reset) {
  visitor.choice("reset", reset, {"episode", "sense"},
                 "flags that only grow, or one-bit flags whose sense flips");
}

}  // namespace phicoll
