#pragma once

// What a barrier knows of the call just before it, which most likely comes again after it.

#include "phicoll/memory/call_history.hpp"

namespace phicoll {

/// The root of the call just before this barrier, the same on all ranks; none on ports that know no calls,
/// and in calls that do not block.
template <class Port>
inline RootOfCall root_before(Port&, long) {
  return RootOfCall();
}
template <class Port>
inline auto root_before(Port& port, int) -> decltype(port.root_before()) {
  return port.root_before();
}

}  // namespace phicoll
