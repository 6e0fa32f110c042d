#pragma once

// Watching a program's collectives (docs/profile.md): where PHICOLL_PROFILE names a folder, the algorithms of
// each rank are made with a clock around them, and write down when each call was entered and left. Without
// that variable nothing of this is on a call's path.

#include <memory>

#include "phicoll/collectives/contract/any_collective.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/ports/native_port.hpp"

namespace phicoll {

/// `algorithm` with a clock around it if calls are watched, else itself. `spec` is in effect. If the folder
/// can't be written, a line on standard error says so, once, and nothing is watched.
std::unique_ptr<AnyCollective<NativePort>> watched(std::unique_ptr<AnyCollective<NativePort>> algorithm,
                                                   Operation operation, const AlgorithmSpec& spec,
                                                   const Control& control, int rank, int size);

}  // namespace phicoll
