#pragma once

// A question that a library preloaded into whole process trees asks about its own process.

#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/// Whether this is the process that `phicoll omp` or the like became, by the variable that holds its number,
/// or that it started, by minus its number; and waited for no child. (Programs that a launcher or a shell ran
/// report for themselves.)
inline bool speaks_for_the_command(const char* variable) {
  const char* const first = getenv(variable);
  rusage children;
  const long number = first != nullptr ? atol(first) : 0;
  return (number == getpid() || number == -static_cast<long>(getppid())) &&
         !(getrusage(RUSAGE_CHILDREN, &children) == 0 && children.ru_minflt != 0);
}
