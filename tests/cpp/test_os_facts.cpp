// What doctor and the context record say about a machine, and the locks on its CPUs.

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "os_test_tree.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/os/cpu_lock.hpp"
#include "phicoll/os/facts.hpp"
#include "phicoll/os/fallbacks.hpp"

namespace os = phicoll::os;

namespace {

TEST(Facts, OfAMadeUpMachine) {
  TestTree tree;
  tree.write("/proc/cpuinfo", "processor\t: 0\nmodel name\t: Example CPU @ 2.0GHz\nflags\t\t: fpu\n");
  tree.write("/proc/meminfo", "MemTotal:       2048 kB\nMemFree: 1 kB\n");
  tree.write("/proc/loadavg", "0.50 1.25 2.00 1/100 4711\n");
  tree.write("/proc/stat", "cpu  100 0 100 700 50 0 0 50 0 0\ncpu0 1 2 3\n");
  tree.write("/proc/sys/kernel/yama/ptrace_scope", "1\n");
  tree.write("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  tree.write("/sys/kernel/mm/transparent_hugepage/shmem_enabled",
             "always within_size advise [never] deny force\n");
  tree.write("/sys/devices/system/cpu/online", "0-1\n");
  tree.write("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
  const std::string& root = tree.root();
  EXPECT_EQ(os::cpu_model(root), "Example CPU @ 2.0GHz");
  EXPECT_EQ(os::memory_total(root), 2048u * 1024);
  EXPECT_DOUBLE_EQ(os::load_averages(root)[1], 1.25);
  EXPECT_EQ(os::ptrace_scope(root), 1);
  EXPECT_EQ(os::huge_pages(root), "madvise");
  EXPECT_EQ(os::huge_pages_shared(root), "never");
  EXPECT_EQ(os::frequency_governor(root), "mixed");
  tree.write("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
  EXPECT_EQ(os::frequency_governor(root), "powersave");
  EXPECT_EQ(os::frequency_boost(root), "unknown");
  tree.write("/sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  EXPECT_EQ(os::frequency_boost(root), "off");

  const os::CpuTimes before = os::cpu_times(root);
  ASSERT_TRUE(before.known);
  EXPECT_EQ(before.total, 1000u);
  tree.write("/proc/stat", "cpu  150 0 100 720 50 0 0 80 0 0\n");
  const os::CpuTimes after = os::cpu_times(root);
  EXPECT_DOUBLE_EQ(os::steal_share(before, after), 0.3);
  EXPECT_DOUBLE_EQ(os::busy_share(before, after), 0.5);
  EXPECT_LT(os::steal_share(after, after), 0);
}

TEST(Facts, ACpusNameIsTheSameAfterItWasSplitIntoWords) {
  TestTree tree;
  tree.write("/proc/cpuinfo",
             "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) CPU           E5620  @ 2.40GHz\n");
  EXPECT_EQ(os::cpu_model(tree.root()), "Intel(R) Xeon(R) CPU E5620 @ 2.40GHz");
}

TEST(Facts, UnknownsOfAnEmptyTree) {
  TestTree tree;
  const std::string& root = tree.root();
  EXPECT_EQ(os::cpu_model(root), "unknown");
  EXPECT_EQ(os::memory_total(root), 0u);
  EXPECT_LT(os::load_averages(root)[0], 0);
  EXPECT_EQ(os::ptrace_scope(root), -1);
  EXPECT_EQ(os::perf_event_paranoid(root), -100);
  EXPECT_EQ(os::huge_pages(root), "unknown");
  EXPECT_EQ(os::frequency_governor(root), "none");
  EXPECT_FALSE(os::cpu_times(root).known);
  EXPECT_LT(os::steal_share(os::CpuTimes(), os::CpuTimes()), 0);
}

TEST(Facts, OfThisMachine) {
  EXPECT_FALSE(os::cpu_model().empty());
  EXPECT_FALSE(os::kernel_release().empty());
  EXPECT_FALSE(os::virtualisation().empty());
  EXPECT_FALSE(os::container().empty());
  EXPECT_GT(os::memory_total(), 1u << 20);
  EXPECT_TRUE(os::cpu_times().known);
}

TEST(Facts, CrossCopyIsTriedAndLeavesNoChild) {
  const os::CrossCopyProbe probe = os::probe_cross_copy();
  if (os::fallbacks_forced()) {
    EXPECT_EQ(probe.from_child, ENOSYS);
    EXPECT_EQ(probe.from_sibling, ENOSYS);
  } else {
    for (const int error : {probe.from_child, probe.from_sibling})
      EXPECT_TRUE(error == 0 || error == EPERM || error == ENOSYS) << error;
  }
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

class CpuLocks : public ::testing::Test {
 protected:
  TestTree directory_;
};

TEST_F(CpuLocks, ASecondMeasurementIsRefusedAndToldWhoHoldsTheCpu) {
  const std::string& in = directory_.root();
  const pid_t child = [&] {
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(60);
      const os::CpuLock lock = os::CpuLock::acquire({3, 1}, 0, in);
      if (write(ready[1], "x", 1) == 1)
        for (;;) pause();
      _exit(1);
    }
    char byte;
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    close(ready[1]);
    return pid;
  }();
  try {
    os::CpuLock::acquire({0, 1}, 0, in);
    ADD_FAILURE() << "locked twice";
  } catch (const phicoll::ResourceError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("CPU 1"), std::string::npos) << text;
    EXPECT_NE(text.find("process " + std::to_string(child) + " ("), std::string::npos) << text;
    EXPECT_NE(text.find(program_invocation_short_name), std::string::npos) << text;
  }
  EXPECT_NE(os::cpu_lock_holder(3, in).find(std::to_string(child)), std::string::npos);
  EXPECT_EQ(os::cpu_lock_holder(0, in), "");  // all or nothing: CPU 0 was given back
  EXPECT_NO_THROW(os::CpuLock::acquire({0, 2}, 0, in));
  kill(child, SIGKILL);  // gone with the process, and a waiting one gets it
  const os::CpuLock mine = os::CpuLock::acquire({1, 3}, 20, in);
  EXPECT_EQ(mine.cpus(), (std::vector<int>{1, 3}));
  EXPECT_NE(os::cpu_lock_holder(1, in).find("process " + std::to_string(getpid()) + " "), std::string::npos);
  waitpid(child, nullptr, 0);
}

TEST_F(CpuLocks, AreReleasedByMoveAndScope) {
  const std::string& in = directory_.root();
  {
    os::CpuLock first = os::CpuLock::acquire({5}, 0, in);
    os::CpuLock second = std::move(first);
    EXPECT_TRUE(first.cpus().empty());
    EXPECT_NE(os::cpu_lock_holder(5, in), "");
  }
  EXPECT_EQ(os::cpu_lock_holder(5, in), "");
}

TEST_F(CpuLocks, NeverFollowALink) {
  const std::string& in = directory_.root();
  directory_.write("/victim", "precious");
  ASSERT_EQ(symlink((in + "/victim").c_str(), (in + "/phicoll-cpu-7.lock").c_str()), 0);
  ASSERT_EQ(link((in + "/victim").c_str(), (in + "/phicoll-cpu-8.lock").c_str()), 0);
  EXPECT_THROW(os::CpuLock::acquire({7}, 0, in), phicoll::ResourceError);
  EXPECT_THROW(os::CpuLock::acquire({8}, 0, in), phicoll::ResourceError);
  struct stat status;
  ASSERT_EQ(stat((in + "/victim").c_str(), &status), 0);
  EXPECT_EQ(status.st_size, 8);
}

// Another user may hold the lock of a file of any length.
TEST_F(CpuLocks, AHoldersFileIsNotReadWhole) {
  const std::string& in = directory_.root();
  const os::CpuLock lock = os::CpuLock::acquire({6}, 0, in);
  ASSERT_EQ(truncate((in + "/phicoll-cpu-6.lock").c_str(), off_t{40} << 30), 0);
  const std::string own = "process " + std::to_string(getpid()) + " ";
  EXPECT_NE(os::cpu_lock_holder(6, in).find(own), std::string::npos);
  try {
    os::CpuLock::acquire({6}, 0, in);
    ADD_FAILURE() << "locked twice";
  } catch (const phicoll::ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find(own), std::string::npos) << error.what();
  }
}

TEST_F(CpuLocks, AreInTheFolderThatIsNamed) {
  const std::string in = directory_.root() + "/elsewhere";
  setenv("PHICOLL_LOCK_FOLDER", in.c_str(), 1);
  try {
    os::CpuLock::acquire({4}, 0);
    ADD_FAILURE() << "in another folder";
  } catch (const phicoll::ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find(in + "/phicoll-cpu-4.lock"), std::string::npos) << error.what();
  }
  ASSERT_EQ(mkdir(in.c_str(), 0700), 0);
  const os::CpuLock lock = os::CpuLock::acquire({4}, 0);
  EXPECT_NE(os::cpu_lock_holder(4), "");
  unsetenv("PHICOLL_LOCK_FOLDER");
  EXPECT_NE(os::cpu_lock_holder(4, in), "");
}

TEST_F(CpuLocks, MayBeWrittenByTheNextUserWhateverTheUmask) {
  const mode_t before = umask(077);
  { const os::CpuLock lock = os::CpuLock::acquire({9}, 0, directory_.root()); }
  umask(before);
  struct stat status;
  ASSERT_EQ(stat((directory_.root() + "/phicoll-cpu-9.lock").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777u, 0666u);
}

}  // namespace
