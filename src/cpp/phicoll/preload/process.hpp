#pragma once

// What a library that is preloaded into whole process trees asks about its own process.

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/// Whether this is the process that `phicoll omp` or the like became, by the variable that holds its number, and it waited for no
/// child: the programs that a launcher or a shell ran have spoken for themselves.
inline bool speaks_for_the_command(const char* variable) {
  const char* const first = getenv(variable);
  rusage children;
  return first != nullptr && atol(first) == getpid() &&
         !(getrusage(RUSAGE_CHILDREN, &children) == 0 && children.ru_minflt != 0);
}
