#pragma once

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

#include "phicoll/os/kept_errno.hpp"

namespace phicoll {
namespace os {

/// Sleeps for less than a second, or until a signal comes. It is the bare system call: glibc's functions that
/// sleep are points of cancellation, and a barrier is none. Leaves errno as it is.
inline void nap(long ns) {
  const timespec time = {0, ns};
  const KeptErrno kept;
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, nullptr);
}

/// How long to nap in a wait that has lasted so long and cannot sleep: it ends late by a 64th at most. A nap
/// and the looks around it take 5 us on an idle host, and 60 in a virtual machine on a busy one. So after a
/// second a wait takes less than 1 percent of a CPU there, too.
inline long nap_of_wait(std::int64_t waited_ns, std::int64_t shortest_ns = 50 * 1000) {
  constexpr std::int64_t longest_ns = 20 * 1000 * 1000;
  const std::int64_t part = waited_ns / 64;
  return static_cast<long>(part < shortest_ns ? shortest_ns : part > longest_ns ? longest_ns : part);
}

}  // namespace os
}  // namespace phicoll
