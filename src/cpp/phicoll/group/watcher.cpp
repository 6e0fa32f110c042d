#include "phicoll/group/watcher.hpp"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <system_error>

#include "phicoll/errors.hpp"
#include "phicoll/group/quiet_thread.hpp"
#include "phicoll/memory/copy_desk.hpp"
#include "phicoll/os/futex.hpp"
#include "phicoll/os/liveness.hpp"

namespace phicoll {

namespace {
// How often a watcher looks whether its successor is still the same: a rank that left in order no longer
// watches.
constexpr int look_again_ms = 400;
constexpr int mutex_slice_ms = 100;

constexpr const char* launcher_death = "the launcher died";
}  // namespace

Watcher::Watcher(Control& control, const OutsideView& group, int rank)
    : desk_(control.desk()), group_(group), rank_(rank), parent_(getppid()), wake_(os::open_wake_fd()) {
  try {
    thread_ = start_quiet_thread([this] {
      const bool held = group_.life(rank_).acquire();
      alive_.store(1, std::memory_order_release);
      os::futex_wake(&alive_, 1, false);
      if (!os::pidfd_available() || wake_ < 0 || !watch_by_descriptor()) watch_by_mutex();
      if (held) group_.life(rank_).release();
    });
  } catch (const std::system_error& error) {
    if (wake_ >= 0) close(wake_);
    throw ResourceError(std::string("no thread could be started to watch the group: ") + error.what());
  }
  // The rank may attach only now: without pidfds, a process that dies before it holds its sign of life would
  // never be missed.
  while (alive_.load(std::memory_order_acquire) == 0) os::futex_wait(&alive_, 0, 10 * 1000 * 1000, false);
}

Watcher::~Watcher() {
  stop_.store(true, std::memory_order_release);
  if (wake_ >= 0) os::signal_wake_fd(wake_);
  thread_.join();
  if (server_.joinable()) {
    desk_.ring(rank_);
    server_.join();
  }
  if (wake_ >= 0) close(wake_);
}

/// The next rank that a process has taken and not left; -1 if there is none but this one.
int Watcher::successor() const {
  for (int step = 1; step < group_.ranks(); ++step) {
    const int r = (rank_ + step) % group_.ranks();
    if (group_.taken(r) && !group_.left(r)) return r;
  }
  return -1;
}

/// Breaks the group unless the rank had left in order before its process ended.
bool Watcher::report_death(int rank) {
  if (group_.left(rank)) return false;
  group_.break_group(rank, OutsideView::died);
  return true;
}

/// Called every look_again_ms: the first copy that the kernel refuses waits for that long.
void Watcher::serve_if_wanted() {
  if (server_.joinable() || !desk_.wanted()) return;
  try {
    server_ = start_quiet_thread([this] { desk_.serve(rank_, stop_); });
  } catch (const std::system_error& error) {
    const std::string reason =
        std::string("could start no thread that hands its memory out: ") + error.what();
    group_.break_group(rank_, reason);
  }
}

/// Until the end, or false: there are no descriptors left for this process (its limit on open files), so the
/// deaths must be seen otherwise.
bool Watcher::watch_by_descriptor() {
  const int launcher = group_.launcher() > 0 ? os::open_pidfd(group_.launcher()) : -1;
  if (group_.launcher() > 0 && launcher < 0) {
    if (errno != ESRCH) return false;
    group_.break_group(any_rank, launcher_death);
  }
  bool descriptors = true;
  while (descriptors && !stop_.load(std::memory_order_acquire) && !group_.broken()) {
    const int next = successor();
    int peer = -1;
    if (next >= 0) {
      peer = os::open_pidfd(group_.pid(next));
      if (peer < 0 && errno != ESRCH) {
        descriptors = false;
        break;
      }
      if (peer < 0 && report_death(next)) break;
    }
    const int watched[2] = {peer, launcher};
    int which = -1;
    while (!stop_.load(std::memory_order_acquire) && !group_.broken() && successor() == next) {
      serve_if_wanted();
      if (!os::wait_any_exit(watched, 2, wake_, look_again_ms, &which)) continue;
      if (which == 0) {
        report_death(next);
        // It left in order and its process has ended: look for the next one.
        while (successor() == next && !group_.broken()) sched_yield();
      } else {
        group_.break_group(any_rank, launcher_death);
      }
      break;
    }
    if (peer >= 0) close(peer);
  }
  if (launcher >= 0) close(launcher);
  return descriptors;
}

/// Without pidfds. A child sees its launcher's end by getting another parent; a rank that was started through
/// some other program (a shell) can only ask whether the launcher's number is still in use.
bool Watcher::launcher_is_gone() const {
  const pid_t launcher = group_.launcher();
  if (launcher <= 0) return false;
  if (parent_ == launcher) return getppid() != launcher;
  return kill(launcher, 0) != 0 && errno == ESRCH;
}

void Watcher::watch_by_mutex() {
  while (!stop_.load(std::memory_order_acquire) && !group_.broken()) {
    if (launcher_is_gone()) {
      group_.break_group(any_rank, launcher_death);
      break;
    }
    serve_if_wanted();
    const int next = successor();
    if (next < 0) {
      usleep(mutex_slice_ms * 1000);
      continue;
    }
    switch (group_.life(next).watch(mutex_slice_ms)) {
      case os::RobustToken::Watch::died:
        report_death(next);
        break;
      case os::RobustToken::Watch::alive:
        break;
      case os::RobustToken::Watch::released:
      case os::RobustToken::Watch::absent:
        usleep(mutex_slice_ms * 1000);
        break;
    }
  }
}

}  // namespace phicoll
