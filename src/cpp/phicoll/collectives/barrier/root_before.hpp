#pragma once

// What a barrier knows of the call just before it, which most likely comes again after it.

#include "phicoll/collectives/registry/signature.hpp"
#include "phicoll/memory/call_history.hpp"

namespace phicoll {

/// The root of the call just before this barrier, the same on all ranks; none where the port knows of no
/// call.
template <class Port>
inline RootOfCall root_before(const Port& port) {
  const SignatureWord before = port.call_before();
  return before != 0 ? call_signature::root_of(before) : RootOfCall();
}

}  // namespace phicoll
