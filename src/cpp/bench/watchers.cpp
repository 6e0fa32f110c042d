#include "bench/watchers.hpp"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "phicoll/support/utf8.hpp"

namespace phicoll {
namespace bench {

namespace {

std::atomic<bool> interrupted{false};

void on_interrupt(int) {
  interrupted.store(true, std::memory_order_relaxed);
}

void wait_for_watcher() {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  char byte = 0;
  if (poll(&input, 1, 300) > 0 && read(STDIN_FILENO, &byte, 1) < 0) return;
}

}  // namespace

const std::atomic<bool>& catch_interrupts(bool once) {
  struct sigaction action = {};
  action.sa_handler = on_interrupt;
  if (once) action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  signal(SIGPIPE, SIG_IGN);
  return interrupted;
}

void say(const std::string& text, bool acknowledged) {
  const bool progress = text.compare(0, 9, "progress:") == 0;
  std::fprintf(stderr, "%s%s\n", progress ? "" : "phicoll-bench: ", printable(text).c_str());
  if (progress && acknowledged) wait_for_watcher();
}

}  // namespace bench
}  // namespace phicoll
