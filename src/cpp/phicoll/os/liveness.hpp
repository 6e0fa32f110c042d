#pragma once

// Finds out within a millisecond that another process has died. kill(pid, 0) succeeds on a child that is not
// reaped yet, and parent-death signals follow the thread that forked, so neither serves. A pidfd does (Linux
// 5.3); before that, a robust mutex that each process holds while it lives.

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace phicoll {
namespace os {

/// A descriptor (close-on-exec) that becomes readable when the process has ended, reaped or not. -1 with
/// errno set where that is not available (ENOSYS; always with fallbacks forced) or the process is gone
/// (ESRCH). Close it with close().
int open_pidfd(pid_t pid);

/// Whether the process has ended, reaped or not, as far as its number tells: false once the number belongs to
/// another process.
bool process_has_ended(pid_t pid);

/// Whether open_pidfd() works here.
bool pidfd_available();

/// Sleeps until one of the `n` processes of `fds` has ended, `wake_fd` is readable (-1: none), or
/// `timeout_ms` have passed (below 0: no limit). Entries of -1 are skipped. Returns whether one has ended.
/// `*which` (may be null) is its index, the lowest if several have; n when it was `wake_fd`; -1 after the
/// timeout.
bool wait_any_exit(const int* fds, int n, int wake_fd, int timeout_ms, int* which);

/// An eventfd to interrupt wait_any_exit() with: opened, made readable, made unreadable again. -1 on failure.
int open_wake_fd();
void signal_wake_fd(int fd);
void drain_wake_fd(int fd);

/// The fallback: one process's sign of life in shared memory. The kernel marks the mutex when the thread that
/// holds it ends, so acquire() is called by the thread that lives as long as its rank: the watcher thread.
class RobustToken {
 public:
  enum class Watch {
    alive,     ///< held all the time until the timeout
    died,      ///< the owner ended without release()
    released,  ///< the owner let go of it in order
    absent     ///< not acquired yet
  };

  /// Whether the kernel does its part, tried once on a thread that ends with such a mutex. QEMU's user mode
  /// does not: a dead owner seems alive for ever there, and only pidfds tell.
  static bool works();

  /// Makes the token usable, in memory that is mapped by all; once, by the process that makes the memory,
  /// before anybody else sees it. ResourceError where the system has no robust process-shared mutex.
  void init();

  /// The owner takes it: once, for life. Returns false when another process has it or had it.
  bool acquire();

  /// The owner that has left in order may acquire it again.
  void renew();

  /// The owner leaves in order; called by the thread that acquired it.
  void release();

  /// Watches the owner for at most `timeout_ms` milliseconds and returns early unless it is alive. Any number
  /// of processes may watch; call it in slices of 100 ms or so, since nothing else wakes it (the wall clock
  /// counts).
  Watch watch(int timeout_ms);

 private:
  enum : std::uint32_t { fresh = 0, held = 1, left = 2, dead = 3 };

  pthread_mutex_t mutex_;
  std::atomic<std::uint32_t> state_;
};

}  // namespace os
}  // namespace phicoll
