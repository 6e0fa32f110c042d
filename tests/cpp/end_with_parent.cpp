// Part of every test program: its children are killed when it is, and theirs with them. A rank that spins in a test's
// own loop would go on for good.

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace {

pid_t parent;

const int registered = pthread_atfork([] { parent = getpid(); }, nullptr,
                                      [] {
                                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                                        if (getppid() != parent) kill(getpid(), SIGKILL);
                                      });

}  // namespace
