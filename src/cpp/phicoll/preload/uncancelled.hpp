#pragma once

#include <pthread.h>

namespace phicoll_preload {

/// While it lives, what the thread calls is no point of cancellation: opening and reading a file, and
/// printing, are ones.
class Uncancelled {
 public:
  Uncancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uncancelled() { pthread_setcancelstate(before_, nullptr); }
  Uncancelled(const Uncancelled&) = delete;
  Uncancelled& operator=(const Uncancelled&) = delete;

 private:
  int before_;
};

}  // namespace phicoll_preload
