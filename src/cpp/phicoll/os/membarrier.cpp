#include "phicoll/os/membarrier.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "phicoll/os/fallbacks.hpp"

namespace phicoll {
namespace os {

namespace {

// The commands' numbers, for kernel headers older than the kernel that runs
// (include/uapi/linux/membarrier.h).
constexpr int query = 0;
constexpr int global_expedited = 1 << 1;
constexpr int register_global_expedited = 1 << 2;
constexpr int private_expedited = 1 << 3;
constexpr int register_private_expedited = 1 << 4;

long membarrier(int command) {
#ifdef SYS_membarrier
  return syscall(SYS_membarrier, command, 0, 0);
#else
  (void)command;
  return -1;
#endif
}

// What this process has registered (the two command bits), with the process that did it in the upper half: a
// child of fork registers again. Registering twice is harmless, so threads may race here.
std::atomic<unsigned long long> registered{0};

int registered_commands() {
  if (fallbacks_forced()) return 0;
  const auto self = static_cast<unsigned long long>(getpid());
  const unsigned long long seen = registered.load(std::memory_order_acquire);
  if (seen >> 32 == self) return static_cast<int>(seen & 0xffffffffu);
  int commands = 0;
  const long offered = membarrier(query);
  if (offered > 0) {
    constexpr int global_pair = global_expedited | register_global_expedited;
    constexpr int private_pair = private_expedited | register_private_expedited;
    if ((offered & global_pair) == global_pair && membarrier(register_global_expedited) == 0)
      commands |= global_expedited;
    if ((offered & private_pair) == private_pair && membarrier(register_private_expedited) == 0)
      commands |= private_expedited;
  }
  registered.store(self << 32 | static_cast<unsigned>(commands), std::memory_order_release);
  return commands;
}

}  // namespace

bool register_membarrier() {
  return registered_commands() == (global_expedited | private_expedited);
}

bool membarrier_all(bool shared) {
  const int command = shared ? global_expedited : private_expedited;
  return (registered_commands() & command) != 0 && membarrier(command) == 0;
}

bool membarrier_available() {
  if (fallbacks_forced()) return false;
  const long offered = membarrier(query);
  return offered > 0 && (offered & global_expedited) != 0;
}

}  // namespace os
}  // namespace phicoll
