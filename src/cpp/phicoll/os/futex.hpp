#pragma once

// Sleeping on a 32-bit word until another thread wakes the sleeper.

#include <atomic>
#include <cstdint>

namespace phicoll {
namespace os {

/// Sleeps while `*word == expected`, at most `timeout_ns` nanoseconds (no limit below 0). `shared` must be
/// true where the word lies in memory shared by processes. Returns 0 when woken (possibly for no reason: look
/// at the word again), EAGAIN when the word differed on entry, ETIMEDOUT, or EINTR. Never throws, and leaves
/// errno as it is. Without futexes (fallbacks forced) the word is polled every 50 to 100 us and 0 is returned
/// once it differs.
int futex_wait(const std::atomic<std::uint32_t>* word, std::uint32_t expected, std::int64_t timeout_ns,
               bool shared);

/// Wakes up to `count` sleepers (INT_MAX: all) and returns how many were woken; 0 where waiting is polling.
int futex_wake(std::atomic<std::uint32_t>* word, int count, bool shared);

}  // namespace os
}  // namespace phicoll
