#include "phicoll/os/clock.hpp"

#include <time.h>

namespace phicoll {
namespace os {

namespace {

std::int64_t ns_of(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

}  // namespace

std::int64_t now_ns() {
  return ns_of(CLOCK_MONOTONIC);
}

std::int64_t thread_cpu_ns() {
  return ns_of(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace os
}  // namespace phicoll
