#include "phicoll/os/home_process.hpp"

#include <pthread.h>

#include <cstring>
#include <string>

#include "phicoll/errors.hpp"

namespace phicoll {
namespace os {

std::atomic<std::uint32_t> HomeProcess::forks{0};

void HomeProcess::count_fork() {
  forks.fetch_add(1, std::memory_order_relaxed);
}

HomeProcess::HomeProcess() : forks_(forks.load(std::memory_order_relaxed)) {
  static const int failed = pthread_atfork(nullptr, nullptr, &count_fork);
  if (failed != 0)
    throw ResourceError(std::string("forks of this process cannot be watched: ") + std::strerror(failed));
}

}  // namespace os
}  // namespace phicoll
