// Part of every test program.
//
// - Its children are killed when it is, and theirs with them. A rank that spins in a test's own loop would go
//   on for good.
// - Its groups choose alike on every host, and write no file in the user's cache. Tests of calibration turn
//   it on.

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>

namespace {

pid_t parent;

const int registered = pthread_atfork([] { parent = getpid(); }, nullptr,
                                      [] {
                                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                                        if (getppid() != parent) kill(getpid(), SIGKILL);
                                      });

const int calibration = setenv("PHICOLL_CALIBRATION", "off", 1);

}  // namespace
