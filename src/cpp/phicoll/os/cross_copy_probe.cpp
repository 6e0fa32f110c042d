#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "phicoll/os/cross_copy.hpp"
#include "phicoll/os/facts.hpp"

namespace phicoll {
namespace os {

namespace {

constexpr std::uint64_t mark = 0x70686963'6f6c6c21u;
const volatile std::uint64_t marked = mark;

int read_mark(pid_t pid) {
  std::uint64_t seen = 0;
  const int error = cross_read(
      pid, &seen, reinterpret_cast<std::uintptr_t>(const_cast<const std::uint64_t*>(&marked)), sizeof seen);
  return error != 0 ? error : seen == mark ? 0 : EIO;
}

void reap(pid_t pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace

CrossCopyProbe probe_cross_copy() {
  CrossCopyProbe probe;
  // The children make system calls only (this process may have threads), and end by themselves when their
  // parent dies: the one sleeps on a pipe until its other end is closed.
  int hold[2];
  int answer[2];
  if (pipe2(hold, O_CLOEXEC) != 0) return CrossCopyProbe{errno, errno};
  if (pipe2(answer, O_CLOEXEC) != 0) {
    const int error = errno;
    close(hold[0]);
    close(hold[1]);
    return CrossCopyProbe{error, error};
  }
  const int first = read_mark(getpid());  // also settles, before the fork, what is settled at the first call
  const pid_t victim = fork();
  if (victim == 0) {
    char byte;
    close(hold[1]);
    close(answer[1]);
    while (read(hold[0], &byte, 1) < 0 && errno == EINTR) {
    }
    _exit(0);
  }
  if (victim < 0) {
    probe.from_child = probe.from_sibling = errno;
  } else {
    probe.from_child = first == ENOSYS ? ENOSYS : read_mark(victim);
    const pid_t reader = fork();
    if (reader == 0) {
      const int error = read_mark(victim);
      _exit(write(answer[1], &error, sizeof error) == static_cast<ssize_t>(sizeof error) ? 0 : 1);
    }
    close(answer[1]);
    answer[1] = -1;
    if (reader < 0 || read(answer[0], &probe.from_sibling, sizeof probe.from_sibling) !=
                          static_cast<ssize_t>(sizeof probe.from_sibling))
      probe.from_sibling = reader < 0 ? errno : EIO;
    kill(victim, SIGKILL);
    reap(victim);
    if (reader > 0) reap(reader);
  }
  close(hold[0]);
  close(hold[1]);
  close(answer[0]);
  if (answer[1] >= 0) close(answer[1]);
  return probe;
}

}  // namespace os
}  // namespace phicoll
