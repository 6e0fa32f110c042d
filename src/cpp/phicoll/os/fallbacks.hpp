#pragma once

namespace phicoll {
namespace os {

/// Whether every facility of os/ must use its fallback: always in a build with the CMake option
/// PHICOLL_FORCE_FALLBACKS, else when the environment variable PHICOLL_FORCE_FALLBACKS is set to anything but
/// "0" or nothing at the first call.
bool fallbacks_forced();

}  // namespace os
}  // namespace phicoll
