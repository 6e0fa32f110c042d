// What is preloaded under MPICH's launcher, Hydra. It makes each rank a session of its own. The kernel shares
// CPUs out among sessions (autogroups), so a rank that yields gives its CPU to other programs before another
// rank. As under Intel MPI's Hydra and Open MPI's launcher, a rank is only a group of its own here, for
// signals. The process that starts the ranks has a session of its own, without a terminal.

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" __attribute__((visibility("default"))) pid_t setsid() noexcept {
  // A child that the proxy forks has this name until it executes the rank's program.
  if (strcmp(program_invocation_short_name, "hydra_pmi_proxy") != 0)
    return static_cast<pid_t>(syscall(SYS_setsid));
  return setpgid(0, 0) == 0 ? getpid() : -1;
}
