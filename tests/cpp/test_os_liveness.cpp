// A killed process is seen, by pidfd and by the robust mutex; a stopped one is not taken for dead.

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "gtest/gtest.h"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/fallbacks.hpp"
#include "phicoll/os/liveness.hpp"

namespace os = phicoll::os;
using Watch = os::RobustToken::Watch;

namespace {

void reap(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
}

pid_t sleeping_child() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    for (;;) pause();
  }
  return child;
}

class Pidfd : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!os::pidfd_available()) GTEST_SKIP() << "no pidfd here";
  }
};

TEST_F(Pidfd, ShowsAKilledChildBeforeItIsReaped) {
  const pid_t children[2] = {sleeping_child(), sleeping_child()};
  const int fds[3] = {os::open_pidfd(children[0]), -1, os::open_pidfd(children[1])};
  ASSERT_GE(fds[0], 0);
  ASSERT_GE(fds[2], 0);
  int which = 99;
  EXPECT_FALSE(os::wait_any_exit(fds, 3, -1, 20, &which));
  EXPECT_EQ(which, -1);
  kill(children[1], SIGKILL);
  EXPECT_TRUE(os::wait_any_exit(fds, 3, -1, 20000, &which));
  EXPECT_EQ(which, 2);
  EXPECT_EQ(kill(children[1], 0), 0);  // the zombie that kill(pid, 0) takes for a living process
  kill(children[0], SIGKILL);
  for (const pid_t child : children) reap(child);
  close(fds[0]);
  close(fds[2]);
}

TEST_F(Pidfd, AStoppedProcessIsNotDead) {
  const pid_t child = sleeping_child();
  const int fd = os::open_pidfd(child);
  kill(child, SIGSTOP);
  int which = 0;
  EXPECT_FALSE(os::wait_any_exit(&fd, 1, -1, 50, &which));
  kill(child, SIGKILL);
  EXPECT_TRUE(os::wait_any_exit(&fd, 1, -1, 20000, nullptr));
  reap(child);
  close(fd);
}

TEST_F(Pidfd, ThereIsNoneOfAProcessThatIsGone) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  reap(child);
  EXPECT_EQ(os::open_pidfd(child), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST(WaitAnyExit, IsWokenByItsWakeDescriptor) {
  const int wake = os::open_wake_fd();
  ASSERT_GE(wake, 0);
  int which = 99;
  EXPECT_FALSE(os::wait_any_exit(nullptr, 0, wake, 10, &which));
  EXPECT_EQ(which, -1);
  std::thread other([wake] { os::signal_wake_fd(wake); });
  EXPECT_FALSE(os::wait_any_exit(nullptr, 0, wake, 20000, &which));
  EXPECT_EQ(which, 0);
  other.join();
  os::drain_wake_fd(wake);
  EXPECT_FALSE(os::wait_any_exit(nullptr, 0, wake, 0, &which));
  EXPECT_EQ(which, -1);
  close(wake);
}

TEST(WaitAnyExit, FallbackHasNoPidfd) {
  if (!os::fallbacks_forced()) GTEST_SKIP();
  EXPECT_EQ(os::open_pidfd(getpid()), -1);
  EXPECT_EQ(errno, ENOSYS);
}

class Token : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!os::RobustToken::works()) GTEST_SKIP() << "no robust mutexes here (QEMU's user mode)";
    page_ = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(page_, MAP_FAILED);
    token_ = static_cast<os::RobustToken*>(page_);
    token_->init();
  }
  void TearDown() override {
    if (page_ != nullptr) munmap(page_, 4096);
  }

  // A child that takes the token and then waits to be told to leave (or to be killed).
  pid_t owner(int stop_fd) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      if (!token_->acquire()) _exit(1);
      char byte;
      while (read(stop_fd, &byte, 1) < 0 && errno == EINTR) {
      }
      token_->release();
      _exit(0);
    }
    return child;
  }

  // Waits until the owner has it.
  Watch until_present() {
    const std::int64_t end = os::now_ns() + 20000000000;
    Watch seen = Watch::absent;
    while (seen == Watch::absent && os::now_ns() < end) seen = token_->watch(10);
    return seen;
  }

  // Watches in slices until something has happened.
  Watch until_gone() {
    const std::int64_t end = os::now_ns() + 20000000000;
    Watch seen = Watch::alive;
    while (seen == Watch::alive && os::now_ns() < end) seen = token_->watch(100);
    return seen;
  }

  void* page_ = nullptr;
  os::RobustToken* token_ = nullptr;
};

TEST_F(Token, ShowsAKilledOwnerToAllWatchers) {
  int stop[2];
  ASSERT_EQ(pipe(stop), 0);
  const pid_t child = owner(stop[0]);
  EXPECT_EQ(until_present(), Watch::alive);
  EXPECT_FALSE(token_->acquire());
  Watch other = Watch::alive;
  std::thread second([&] { other = until_gone(); });
  kill(child, SIGKILL);
  EXPECT_EQ(until_gone(), Watch::died);
  second.join();
  EXPECT_EQ(other, Watch::died);
  EXPECT_EQ(token_->watch(0), Watch::died);
  EXPECT_FALSE(token_->acquire());
  reap(child);
  close(stop[0]);
  close(stop[1]);
}

TEST_F(Token, LeavingInOrderIsNoDeath) {
  int stop[2];
  ASSERT_EQ(pipe(stop), 0);
  const pid_t child = owner(stop[0]);
  EXPECT_EQ(until_present(), Watch::alive);
  ASSERT_EQ(write(stop[1], "x", 1), 1);
  EXPECT_EQ(until_gone(), Watch::released);
  EXPECT_EQ(token_->watch(0), Watch::released);
  EXPECT_FALSE(token_->acquire());
  reap(child);
  EXPECT_EQ(token_->watch(0), Watch::released);
  close(stop[0]);
  close(stop[1]);
}

TEST_F(Token, AnOwnerThatLeftMayComeBackAndDie) {
  std::thread first([this] {
    EXPECT_TRUE(token_->acquire());
    token_->release();
  });
  first.join();
  EXPECT_FALSE(token_->acquire());
  token_->renew();
  EXPECT_EQ(token_->watch(0), Watch::absent);
  std::thread second([this] { EXPECT_TRUE(token_->acquire()); });
  second.join();
  EXPECT_EQ(until_gone(), Watch::died);
  token_->renew();
  EXPECT_FALSE(token_->acquire());
}

TEST_F(Token, AStoppedOwnerIsAlive) {
  int stop[2];
  ASSERT_EQ(pipe(stop), 0);
  const pid_t child = owner(stop[0]);
  EXPECT_EQ(until_present(), Watch::alive);
  kill(child, SIGSTOP);
  EXPECT_EQ(token_->watch(50), Watch::alive);
  kill(child, SIGKILL);
  EXPECT_EQ(until_gone(), Watch::died);
  reap(child);
  close(stop[0]);
  close(stop[1]);
}

TEST_F(Token, NobodyHasTakenItYet) {
  EXPECT_EQ(token_->watch(5), Watch::absent);
}

TEST_F(Token, AThreadThatEndsWithoutReleaseCounts) {
  std::thread owner_thread([this] { EXPECT_TRUE(token_->acquire()); });
  owner_thread.join();
  EXPECT_EQ(until_gone(), Watch::died);
}

}  // namespace
