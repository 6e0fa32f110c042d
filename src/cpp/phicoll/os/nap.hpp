#pragma once

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "phicoll/os/kept_errno.hpp"

namespace phicoll {
namespace os {

/// Sleeps for less than a second, or until a signal comes. It is the bare system call: glibc's functions that sleep are points of
/// cancellation, and a barrier is none. Leaves errno as it is.
inline void nap(long ns) {
  const timespec time = {0, ns};
  const KeptErrno kept;
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &time, nullptr);
}

}  // namespace os
}  // namespace phicoll
