#include "phicoll/os/clock.hpp"

#include <time.h>

namespace phicoll {
namespace os {

std::int64_t now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

}  // namespace os
}  // namespace phicoll
