#include "phicoll/os/liveness.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/descriptor.hpp"
#include "phicoll/os/fallbacks.hpp"
#include "phicoll/os/text_file.hpp"

namespace phicoll {
namespace os {

namespace {

int lock_within(pthread_mutex_t* mutex, std::int64_t ns) {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer does not know that pthread_mutex_timedlock locks when it returns EOWNERDEAD; of trylock
  // it does.
  for (const std::int64_t end = now_ns() + ns;;) {
    const int error = pthread_mutex_trylock(mutex);
    if (error != EBUSY) return error;
    if (now_ns() >= end) return ETIMEDOUT;
    const timespec nap = {0, 1000000};
    nanosleep(&nap, nullptr);
  }
#else
  timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += static_cast<time_t>(ns / 1000000000);
  until.tv_nsec += static_cast<long>(ns % 1000000000);
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    ++until.tv_sec;
  }
  return pthread_mutex_timedlock(mutex, &until);
#endif
}

}  // namespace

int open_pidfd(pid_t pid) {
#ifdef SYS_pidfd_open
  if (!fallbacks_forced()) return beyond_standard_streams(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
#else
  (void)pid;
#endif
  errno = ENOSYS;
  return -1;
}

bool process_has_ended(pid_t pid) {
  const int fd = open_pidfd(pid);
  if (fd >= 0) {
    pollfd entry = {fd, POLLIN, 0};
    const bool ended = poll(&entry, 1, 0) > 0;
    close(fd);
    return ended;
  }
  if (kill(pid, 0) != 0 && errno == ESRCH) return true;
  // "12 (name) Z ...": a child that is not reaped yet. The name may hold anything.
  std::string text;
  if (!read_text("/proc/" + std::to_string(pid) + "/stat", &text)) return false;
  const std::size_t name_end = text.rfind(") ");
  return name_end != std::string::npos && (text[name_end + 2] == 'Z' || text[name_end + 2] == 'X');
}

bool pidfd_available() {
  static const bool available = [] {
    const int fd = open_pidfd(getpid());
    if (fd < 0) return false;
    close(fd);
    return true;
  }();
  return available;
}

bool wait_any_exit(const int* fds, int n, int wake_fd, int timeout_ms, int* which) {
  std::vector<pollfd> polled(static_cast<std::size_t>(n) + 1);
  for (int i = 0; i <= n; ++i) {
    pollfd& entry = polled[static_cast<std::size_t>(i)];
    entry.fd = i < n ? fds[i] : wake_fd;  // poll skips negative descriptors
    entry.events = POLLIN;
    entry.revents = 0;
  }
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(timeout_ms) * 1000000;
  int left_ms = timeout_ms;
  int ready = -1;
  for (;;) {
    const int count = poll(polled.data(), polled.size(), left_ms);
    if (count == 0) break;
    if (count > 0) {
      for (int i = n; i >= 0;
           --i)  // an ended process counts before the wake-up, the lowest index before the others
        if (polled[static_cast<std::size_t>(i)].revents != 0) ready = i;
      break;
    }
    if (errno != EINTR) break;
    if (timeout_ms >= 0) {
      const std::int64_t left_ns = end - now_ns();
      left_ms = left_ns <= 0 ? 0 : static_cast<int>((left_ns + 999999) / 1000000);
    }
  }
  if (which != nullptr) *which = ready;
  return ready >= 0 && ready < n;
}

int open_wake_fd() {
  return beyond_standard_streams(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

void signal_wake_fd(int fd) {
  const std::uint64_t one = 1;
  ssize_t written;
  do {
    written = write(fd, &one, sizeof one);
  } while (written < 0 && errno == EINTR);  // EAGAIN means that it is readable already
}

void drain_wake_fd(int fd) {
  std::uint64_t count;
  ssize_t got;
  do {
    got = read(fd, &count, sizeof count);
  } while (got < 0 && errno == EINTR);
}

bool RobustToken::works() {
  static const bool works = [] {
    try {
      auto token = std::make_unique<RobustToken>();
      token->init();
      bool held = false;
      std::thread owner([&] { held = token->acquire(); });
      owner.join();
      return held && token->watch(0) == Watch::died;
    } catch (const Error&) {
      return false;
    }
  }();
  return works;
}

void RobustToken::init() {
  state_.store(fresh, std::memory_order_relaxed);
  pthread_mutexattr_t attributes;
  int error = pthread_mutexattr_init(&attributes);
  if (error == 0) {
    error = pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    if (error == 0) error = pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    if (error == 0) error = pthread_mutex_init(&mutex_, &attributes);
    pthread_mutexattr_destroy(&attributes);
  }
  if (error != 0)
    throw ResourceError(std::string("no robust process-shared mutex on this system: ") +
                        std::strerror(error));
}

bool RobustToken::acquire() {
  // Watchers lock it only while it is marked as held; one that saw a former owner may have it for a moment.
  const int error = lock_within(&mutex_, 100 * 1000000);
  if (error != 0 && error != EOWNERDEAD) return false;
  if (error == EOWNERDEAD || state_.load(std::memory_order_relaxed) != fresh) {
    if (error == EOWNERDEAD && state_.load(std::memory_order_relaxed) != left)
      state_.store(dead, std::memory_order_release);
    pthread_mutex_unlock(&mutex_);
    return false;
  }
  state_.store(held, std::memory_order_release);
  return true;
}

void RobustToken::renew() {
  std::uint32_t former = left;
  state_.compare_exchange_strong(former, fresh, std::memory_order_acq_rel);
}

void RobustToken::release() {
  state_.store(left, std::memory_order_release);
  pthread_mutex_unlock(&mutex_);
}

RobustToken::Watch RobustToken::watch(int timeout_ms) {
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(timeout_ms) * 1000000;
  for (;;) {
    const std::uint32_t state = state_.load(std::memory_order_acquire);
    if (state == left) return Watch::released;
    if (state == dead) return Watch::died;
    if (state == held) break;
    if (now_ns() >= end) return Watch::absent;
    const timespec nap = {0, 1000000};
    nanosleep(&nap, nullptr);
  }
  const int error = lock_within(&mutex_, end > now_ns() ? end - now_ns() : 0);
  if (error == ETIMEDOUT) return Watch::alive;
  if (error == ENOTRECOVERABLE) return Watch::died;
  if (error == EOWNERDEAD) {
    // The dead one is the owner, or another watcher that died just after the owner had left in order.
    // Unlocking without repair makes the mutex useless for good, which tells every other watcher at once.
    const bool in_order = state_.load(std::memory_order_acquire) == left;
    if (!in_order) state_.store(dead, std::memory_order_release);
    pthread_mutex_unlock(&mutex_);
    return in_order ? Watch::released : Watch::died;
  }
  if (error == 0) {
    const bool in_order = state_.load(std::memory_order_acquire) == left;
    pthread_mutex_unlock(&mutex_);
    return in_order ? Watch::released : Watch::alive;
  }
  return Watch::alive;  // EDEADLK: the owner watches itself
}

}  // namespace os
}  // namespace phicoll
