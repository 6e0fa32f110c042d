#pragma once

// What a preloaded library says when its process ends, in whatever way the program ends it. It needs no C++
// library, since an MPI's compiler may bring another.

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace phicoll_preload {

/// Says `word` once in a process: when it exits, or when it ends at once by _exit, as shells do, in a signal
/// handler perhaps. So `word` waits for no lock. A child of fork says its own; a child of vfork, which runs
/// in its parent's memory, says none.
template <void (*word)()>
class LastWord {
 public:
  /// When the library is loaded.
  static void begin() {
    speaker_ = getpid();
    at_once_ = reinterpret_cast<Exit>(dlsym(RTLD_NEXT, "_exit"));
    pthread_atfork(nullptr, nullptr, [] {
      speaker_ = getpid();
      __atomic_store_n(&said_, false, __ATOMIC_RELAXED);
    });
    at_quick_exit(&say);
  }
  static void say() {
    if (speaker_ == getpid() && !__atomic_exchange_n(&said_, true, __ATOMIC_RELAXED)) word();
  }
  [[noreturn]] static void exit_at_once(int status) {
    say();
    if (at_once_ != nullptr) at_once_(status);
    for (;;) syscall(SYS_exit_group, status);
  }

 private:
  using Exit = void (*)(int);
  static pid_t speaker_;  // 0, and nothing is said, before begin()
  static bool said_;
  static Exit at_once_;
};

template <void (*word)()>
pid_t LastWord<word>::speaker_ = 0;
template <void (*word)()>
bool LastWord<word>::said_ = false;
template <void (*word)()>
typename LastWord<word>::Exit LastWord<word>::at_once_ = nullptr;

/// Takes a lock for a last word, or gives up: a thread that was stopped may hold it for ever.
inline bool try_to_lock(pthread_mutex_t* lock) {
  constexpr int tries = 1000;
  for (int i = 0; i < tries; ++i) {
    if (pthread_mutex_trylock(lock) == 0) return true;
    usleep(10);
  }
  return false;
}

}  // namespace phicoll_preload

/// Defines the functions by which a program ends at once.
#define PHICOLL_LAST_WORD(Word)                                                                 \
  extern "C" __attribute__((visibility("default"), noreturn)) void _exit(int status) {          \
    Word::exit_at_once(status);                                                                 \
  }                                                                                             \
  extern "C" __attribute__((visibility("default"), noreturn)) void _Exit(int status) noexcept { \
    Word::exit_at_once(status);                                                                 \
  }
