#pragma once

#include <sched.h>

#include "phicoll/os/nap.hpp"

namespace phicoll_preload {

/// Waits for another thread that is at work, or will be soon. After some yields it sleeps: a yield by a
/// thread of a real-time class never gives the CPU to a thread of a lower class, which may be the awaited
/// one.
class Patience {
 public:
  void wait() {
    if (++turns_ <= yields)
      sched_yield();
    else
      phicoll::os::nap(nap_ns);
  }

 private:
  static constexpr unsigned yields = 64;
  static constexpr long nap_ns = 50 * 1000;
  unsigned turns_ = 0;
};

}  // namespace phicoll_preload
