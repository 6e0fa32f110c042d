#include "phicoll/os/descriptor.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "phicoll/errors.hpp"

namespace phicoll {
namespace os {

namespace {

std::size_t open_now() {
  DIR* const folder = opendir("/proc/self/fd");
  if (folder == nullptr) return 64;
  std::size_t entries = 0;
  while (readdir(folder) != nullptr) ++entries;
  closedir(folder);
  return entries - std::min<std::size_t>(entries, 3);  // ".", ".." and the folder itself
}

}  // namespace

int beyond_standard_streams(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  close(fd);
  errno = error;
  return moved;
}

RaisedDescriptorLimit::RaisedDescriptorLimit(std::size_t wanted, std::size_t least, const std::string& what) {
  getrlimit(RLIMIT_NOFILE, &before_);
  constexpr std::size_t spare = 16;
  const std::size_t others = open_now() + spare;
  struct rlimit limit = before_;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, others + wanted));
  if (limit.rlim_cur < others + least)
    throw ResourceError(what + " need " + std::to_string(others + least) +
                        " open descriptors, and this process may have " + std::to_string(limit.rlim_cur) +
                        ": raise the hard limit (ulimit -Hn)");
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace os
}  // namespace phicoll
