#include "phicoll/os/descriptor.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace phicoll {
namespace os {

int beyond_standard_streams(int fd) {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  close(fd);
  errno = error;
  return moved;
}

}  // namespace os
}  // namespace phicoll
