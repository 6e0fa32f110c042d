#pragma once

// A thread of the library's own in the user's process. It handles no signals: they belong to the program's
// threads.

#include <pthread.h>
#include <signal.h>

#include <thread>
#include <utility>

namespace phicoll {

/// Starts `body` on a thread with all signals blocked; the caller's mask is as before, whether that worked or
/// not. Throws std::system_error.
template <class Body>
std::thread start_quiet_thread(Body&& body) {
  struct Blocked {
    Blocked() {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_SETMASK, &all, &before);
    }
    ~Blocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    sigset_t before;
  };
  const Blocked blocked;
  return std::thread(std::forward<Body>(body));
}

}  // namespace phicoll
