#pragma once

#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace phicoll_preload {

/// Waits for another thread that is at work on its CPU or will be soon. After some yields it sleeps: a yield of a thread of a real-time
/// class gives the CPU to none of a lower one, and the awaited may be such.
class Patience {
 public:
  void wait() {
    if (++turns_ <= yields) {
      sched_yield();
      return;
    }
    const timespec nap = {0, nap_ns};
    const int kept = errno;
    // As a system call, since glibc's function is a point of cancellation.
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &nap, nullptr);
    errno = kept;
  }

 private:
  static constexpr unsigned yields = 64;
  static constexpr long nap_ns = 50 * 1000;
  unsigned turns_ = 0;
};

}  // namespace phicoll_preload
