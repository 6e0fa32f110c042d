#pragma once

// The process that made something, as distinct from later forks of it. A child of fork has a copy of all that
// its parent made, a rank's communicator included, but is not a rank.

#include <atomic>
#include <cstdint>

namespace phicoll {
namespace os {

class HomeProcess {
 public:
  /// The calling process. Throws ResourceError.
  HomeProcess();
  /// Whether the calling process is this one and not a child of fork: a load and a comparison, where getpid()
  /// is a system call.
  bool here() const { return forks_ == forks.load(std::memory_order_relaxed); }

 private:
  static void count_fork();
  // Written by the only thread of a new child, before fork() returns there.
  static std::atomic<std::uint32_t> forks;
  std::uint32_t forks_;
};

}  // namespace os
}  // namespace phicoll
