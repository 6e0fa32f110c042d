#pragma once

#include <sched.h>

#include "phicoll/os/nap.hpp"

namespace phicoll_preload {

/// Waits for another thread that is at work on its CPU or will be soon. After some yields it sleeps: a yield of a thread of a real-time
/// class gives the CPU to none of a lower one, and the awaited may be such.
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
