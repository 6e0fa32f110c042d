#pragma once

#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace phicoll {
namespace os {

/// Sleeps for less than a second, unless a signal comes. glibc's functions that sleep are points of cancellation, which a barrier is not,
/// so this is the bare system call. Leaves errno as it is.
inline void nap(long ns) {
  const timespec time = {0, ns};
  const int kept = errno;
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, nullptr);
  errno = kept;
}

}  // namespace os
}  // namespace phicoll
