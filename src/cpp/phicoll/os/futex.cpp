#include "phicoll/os/futex.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "phicoll/os/clock.hpp"
#include "phicoll/os/fallbacks.hpp"
#include "phicoll/os/kept_errno.hpp"

namespace phicoll {
namespace os {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4, "the kernel compares a bare 32-bit word");

namespace {

timespec to_timespec(std::int64_t ns) {
  timespec t;
  t.tv_sec = static_cast<time_t>(ns / 1000000000);
  t.tv_nsec = static_cast<long>(ns % 1000000000);
  return t;
}

int poll_word(const std::atomic<std::uint32_t>* word, std::uint32_t expected, std::int64_t timeout_ns) {
  if (word->load(std::memory_order_acquire) != expected) return EAGAIN;
  const std::int64_t start = now_ns();
  std::int64_t step = 50000;
  sched_yield();
  while (word->load(std::memory_order_acquire) == expected) {
    std::int64_t nap = step;
    if (timeout_ns >= 0) {
      const std::int64_t left = timeout_ns - (now_ns() - start);
      if (left <= 0) return ETIMEDOUT;
      if (left < nap) nap = left;
    }
    const timespec t = to_timespec(nap);
    if (nanosleep(&t, nullptr) != 0 && errno == EINTR) return EINTR;
    if (step < 100000) step += 10000;
  }
  return 0;
}

int wait(const std::atomic<std::uint32_t>* word, std::uint32_t expected, std::int64_t timeout_ns,
         bool shared) {
#ifdef SYS_futex
  if (!fallbacks_forced()) {
    const int operation = shared ? FUTEX_WAIT : FUTEX_WAIT | FUTEX_PRIVATE_FLAG;
    timespec limit;
    if (timeout_ns >= 0) limit = to_timespec(timeout_ns);
    const long result = syscall(SYS_futex, reinterpret_cast<const std::uint32_t*>(word), operation, expected,
                                timeout_ns >= 0 ? &limit : nullptr, nullptr, 0);
    if (result == 0) return 0;
    if (errno != ENOSYS) return errno;
  }
#endif
  return poll_word(word, expected, timeout_ns);
}

}  // namespace

int futex_wait(const std::atomic<std::uint32_t>* word, std::uint32_t expected, std::int64_t timeout_ns,
               bool shared) {
  const KeptErrno kept;
  return wait(word, expected, timeout_ns, shared);
}

int futex_wake(std::atomic<std::uint32_t>* word, int count, bool shared) {
#ifdef SYS_futex
  if (!fallbacks_forced()) {
    const int operation = shared ? FUTEX_WAKE : FUTEX_WAKE | FUTEX_PRIVATE_FLAG;
    const long woken =
        syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(word), operation, count, nullptr, nullptr, 0);
    return woken > 0 ? static_cast<int>(woken) : 0;
  }
#endif
  (void)word;
  (void)count;
  (void)shared;
  return 0;
}

}  // namespace os
}  // namespace phicoll
