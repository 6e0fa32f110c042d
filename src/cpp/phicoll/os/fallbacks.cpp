#include "phicoll/os/fallbacks.hpp"

#include <cstdlib>
#include <cstring>

namespace phicoll {
namespace os {

bool fallbacks_forced() {
#if defined(PHICOLL_FORCE_FALLBACKS) && PHICOLL_FORCE_FALLBACKS
  return true;
#else
  static const bool forced = [] {
    const char* value = std::getenv("PHICOLL_FORCE_FALLBACKS");
    return value != nullptr && value[0] != '\0' && std::strcmp(value, "0") != 0;
  }();
  return forced;
#endif
}

}  // namespace os
}  // namespace phicoll
