#pragma once

// How barriers with a check-in tree (rodchenko-2015) tell ranks that all have arrived.

namespace phicoll {

enum class Notify : unsigned char {
  local,   ///< back down the check-in tree, a release line for each node or loser ("ls" in the paper)
  global,  ///< one release line that every rank watches ("gs"): a step, but all read one line
};

template <class Visitor>
void describe_notify(Visitor& visitor, Notify& notify) {
  visitor.choice("notify", notify, {"local", "global"},
                 "release lines down the check-in tree, or one line that all watch");
}

}  // namespace phicoll
