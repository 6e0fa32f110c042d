#pragma once

// Children of a test program that fork, and how they ended.

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

namespace phicoll {

/// Starts a child that ends with what `body` returns as its exit status, or with 99 after an exception.
template <class Body>
pid_t in_process(Body body) {
  const pid_t pid = fork();
  if (pid == 0) {
    int status = 99;
    try {
      status = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    _exit(status);
  }
  return pid;
}

/// Waits for a child: its exit status, or the signal that it died of as a negative number.
inline int status_of(pid_t pid) {
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace phicoll
