#pragma once

#include <pthread.h>

namespace phicoll_preload {

/// Lets no other thread hold `lock` while a process forks: its child, which has but the forking thread, would
/// wait for ever.
template <pthread_mutex_t& lock>
void hold_over_forks() {
  const auto give_back = [] { pthread_mutex_unlock(&lock); };
  pthread_atfork([] { pthread_mutex_lock(&lock); }, give_back, give_back);
}

}  // namespace phicoll_preload
