#pragma once

// How the flags of papers 000 and 002, which are set and unset, become fit for the next episode.

namespace phicoll {

enum class FlagRule : unsigned char {
  episode,  ///< flags are episode numbers that only grow: who waits never writes
  unset,    ///< flags are set by who tells and unset by who was told, as the papers write it
};

template <class Visitor>
void describe_flag_rule(Visitor& visitor, FlagRule& rule) {
  visitor.choice("reset", rule, {"episode", "unset"},
                 "flags that only grow, or flags that the told rank unsets again");
}

}  // namespace phicoll
