// Shared memory: it is shared, leaves no name, and refuses what the machine does not have.

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "child_process.hpp"
#include "gtest/gtest.h"
#include "phicoll/errors.hpp"
#include "phicoll/os/cross_copy.hpp"
#include "phicoll/os/fallbacks.hpp"
#include "phicoll/os/shared_memory.hpp"
#include "refused_calls.hpp"

namespace os = phicoll::os;

namespace {

int exit_code(pid_t child) {
  int status = -1;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(SharedMemory, StartsZeroedAndIsSeenByAChildThroughItsDescriptor) {
  os::SharedMemory memory = os::SharedMemory::create("phicoll-test", 10000);
  ASSERT_TRUE(memory.valid());
  EXPECT_EQ(memory.size(), 10000u);
  const auto* bytes = static_cast<const unsigned char*>(memory.data());
  for (std::size_t i = 0; i < memory.size(); ++i) ASSERT_EQ(bytes[i], 0);
  const pid_t child = fork();
  if (child == 0) {
    const os::SharedMemory mine = os::SharedMemory::from_descriptor(dup(memory.descriptor()), 10000);
    std::memcpy(static_cast<char*>(mine.data()) + 9000, "hello", 6);
    _exit(0);
  }
  ASSERT_GT(child, 0);
  EXPECT_EQ(exit_code(child), 0);
  EXPECT_STREQ(reinterpret_cast<const char*>(bytes) + 9000, "hello");
}

TEST(SharedMemory, HasNoNameThatCouldStayBehind) {
  const os::SharedMemory memory = os::SharedMemory::create("phicoll-test", 4096);
  struct stat status;
  ASSERT_EQ(fstat(memory.descriptor(), &status), 0);
  EXPECT_EQ(status.st_nlink, 0u);
  EXPECT_NE(fcntl(memory.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
  const os::SharedMemory file = os::SharedMemory::create_in("/tmp", "phicoll-test", 4096);
  ASSERT_EQ(fstat(file.descriptor(), &status), 0);
  EXPECT_EQ(status.st_nlink, 0u);
}

// In a child, where nothing else is printed.
TEST(SharedMemory, TakesNoStandardStreamsNumber) {
  const pid_t child = fork();
  if (child == 0) {
    for (int stream = 0; stream <= STDERR_FILENO; ++stream) close(stream);
    const os::SharedMemory memory = os::SharedMemory::create("phicoll-test", 4096);
    const os::SharedMemory file = os::SharedMemory::create_in("/tmp", "phicoll-test", 4096);
    const bool beyond = memory.descriptor() > STDERR_FILENO && file.descriptor() > STDERR_FILENO;
    _exit(beyond && fcntl(STDOUT_FILENO, F_GETFD) == -1 ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  EXPECT_EQ(exit_code(child), 0);
}

TEST(SharedMemory, MovesAndOutlivesItsDescriptor) {
  os::SharedMemory first = os::SharedMemory::create("phicoll-test", 4096);
  void* data = first.data();
  os::SharedMemory second = std::move(first);
  EXPECT_FALSE(first.valid());
  EXPECT_EQ(second.data(), data);
  second.close_descriptor();
  EXPECT_EQ(second.descriptor(), -1);
  static_cast<char*>(second.data())[4095] = 1;
}

TEST(SharedMemory, ReservesWithoutChangingWhatIsThere) {
  os::SharedMemory memory = os::SharedMemory::create("phicoll-test", 1 << 20);
  auto* bytes = static_cast<unsigned char*>(memory.data());
  bytes[8192] = 7;
  memory.reserve(4096, (1 << 20) - 4096);
  EXPECT_EQ(bytes[8192], 7);
  EXPECT_EQ(bytes[4096], 0);
  struct stat status;
  ASSERT_EQ(fstat(memory.descriptor(), &status), 0);
  EXPECT_GE(status.st_blocks * 512, (1 << 20) - 4096);
}

TEST(SharedMemory, RefusesMoreThanTheMachineHas) {
  const std::size_t asked = std::size_t{1} << 50;
  try {
    os::SharedMemory::create("phicoll-test", asked);
    FAIL() << "a petabyte was granted";
  } catch (const phicoll::ResourceError& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(asked)), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("available are"), std::string::npos) << error.what();
  }
  EXPECT_THROW(os::SharedMemory::create("phicoll-test", 0), phicoll::ArgumentError);
  EXPECT_THROW(os::SharedMemory::create_in("/nonexistent", "phicoll-test", 1), phicoll::ResourceError);
}

TEST(SharedMemory, ALimitOnTheLengthOfFilesIsAnErrorAndNotASignal) {
  const pid_t child = fork();
  if (child == 0) {
    const struct rlimit limit = {4096, 4096};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(1);
    try {
      os::SharedMemory::create("phicoll-test", 100000);
    } catch (const phicoll::ResourceError& error) {
      const std::string text = error.what();
      _exit(text.find("ulimit -f") != std::string::npos && text.find("100000 bytes") != std::string::npos
                ? 0
                : 2);
    }
    _exit(3);
  }
  EXPECT_EQ(exit_code(child), 0);
}

TEST(SharedMemory, RefusesADescriptorThatIsTooShort) {
  const os::SharedMemory memory = os::SharedMemory::create("phicoll-test", 4096);
  EXPECT_THROW(os::SharedMemory::from_descriptor(memory.descriptor(), 1 << 20), phicoll::ArgumentError);
  EXPECT_THROW(os::SharedMemory::from_descriptor(-1, 4096), phicoll::ArgumentError);
}

TEST(SharedMemory, CannotBeShrunkUnderItsUsers) {
  if (!os::memfd_available()) GTEST_SKIP() << "only a memfd has seals";
  const os::SharedMemory memory = os::SharedMemory::create("phicoll-test", 8192);
  EXPECT_NE(ftruncate(memory.descriptor(), 0), 0);
}

TEST(SharedMemory, SaysWhatIsAvailable) {
  EXPECT_GT(os::memory_available(), std::size_t{1} << 20);
  EXPECT_LT(os::memory_available(), std::size_t{1} << 50);
  if (os::fallbacks_forced()) {
    EXPECT_FALSE(os::memfd_available());
  }
}

// tmpfs before Linux 3.5 (the card's) cannot be asked to hold a range, and the C library's stand-in for that
// reads bytes and writes them back, over what a peer stores meanwhile: both calls are refused here, and
// madvise(), which cannot take pages before Linux 5.14.
constexpr int cannot_be_tried = 77;
bool refuse_allocation() {
  return phicoll::refuse_calls({SYS_fallocate, SYS_pwrite64, SYS_madvise}, EOPNOTSUPP);
}

TEST(SharedMemory, IsReservedWhereTheFileSystemCannotAllocate) {
  const pid_t child = phicoll::in_process([] {
    if (!refuse_allocation()) return cannot_be_tried;
    os::SharedMemory memory = os::SharedMemory::create("phicoll-test", 1 << 20);
    auto* bytes = static_cast<unsigned char*>(memory.data());
    bytes[8192] = 7;
    memory.reserve(5000, (1 << 20) - 5000);
    struct stat status;
    if (fstat(memory.descriptor(), &status) != 0 || status.st_blocks * 512 < (1 << 20) - 4096) return 1;
    return bytes[8192] == 7 && bytes[5000] == 0 ? 0 : 2;
  });
  const int code = phicoll::status_of(child);
  if (code == cannot_be_tried) GTEST_SKIP() << "no filter for system calls here";
  EXPECT_EQ(code, 0);
}

// A file system of 1 MB, in a mount namespace of the child's own: the full /dev/shm of a container.
class FullFileSystem : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(, FullFileSystem, ::testing::Bool(), [](const auto& allocates) {
  return allocates.param ? "ThatAllocates" : "ThatDoesNot";
});

TEST_P(FullFileSystem, IsAnErrorAndNotASignal) {
  const pid_t child = fork();
  if (child == 0) {
    char directory[] = "/tmp/phicoll-full-XXXXXX";
    const bool root = geteuid() == 0;
    if (unshare(root ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) _exit(cannot_be_tried);
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) _exit(cannot_be_tried);
    if (mkdtemp(directory) == nullptr) _exit(cannot_be_tried);
    if (mount("tmpfs", directory, "tmpfs", 0, "size=1m") != 0) {
      rmdir(directory);
      _exit(cannot_be_tried);
    }
    int result = 1;
    try {
      os::SharedMemory memory = os::SharedMemory::create_in(directory, "phicoll-test", 4 << 20);
      if (!GetParam() && !refuse_allocation()) _exit(cannot_be_tried);
      memory.reserve(0, 512 << 10);
      std::memset(memory.data(), 1, 512 << 10);
      try {
        memory.reserve(512 << 10, 3 << 20);
        result = 2;
      } catch (const phicoll::ResourceError& error) {
        const std::string text = error.what();
        const bool numbers = text.find(std::to_string(3 << 20)) != std::string::npos &&
                             text.find("No space") != std::string::npos;
        result = numbers ? 0 : 3;
      }
    } catch (...) {
      result = 4;
    }
    umount2(directory, MNT_DETACH);
    rmdir(directory);
    _exit(result);
  }
  ASSERT_GT(child, 0);
  const int code = exit_code(child);
  if (code == cannot_be_tried) GTEST_SKIP() << "this system lets nobody mount, or filter system calls";
  EXPECT_EQ(code, 0);
}

TEST(CrossCopy, MovesBytesBothWaysOrSaysWhyNot) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  static char text[300000];
  const pid_t child = fork();
  if (child == 0) {
    close(ready[1]);
    char byte;
    while (read(ready[0], &byte, 1) < 0 && errno == EINTR) {
    }
    _exit(text[0] == 'b' && text[299999] == 'e' ? 0 : 1);
  }
  ASSERT_GT(child, 0);
  const auto address = reinterpret_cast<std::uintptr_t>(text);
  std::string local(sizeof text, 'b');
  local.back() = 'e';
  const int wrote = os::cross_write(child, local.data(), address, local.size());
  std::string back(sizeof text, 'x');
  const int got = os::cross_read(child, &back[0], address, back.size());
  const int unmapped = os::cross_read(child, &back[0], 64, 100);
  close(ready[0]);
  close(ready[1]);
  const int code = exit_code(child);
  if (os::fallbacks_forced()) {
    EXPECT_EQ(wrote, ENOSYS);
    EXPECT_EQ(got, ENOSYS);
  } else if (wrote == 0) {
    EXPECT_EQ(got, 0);
    EXPECT_EQ(back, local);
    EXPECT_EQ(code, 0);
    EXPECT_EQ(unmapped, EFAULT);
    EXPECT_EQ(os::cross_read(child, &back[0], address, 8), ESRCH);
  } else {
    EXPECT_TRUE(wrote == EPERM || wrote == ENOSYS) << wrote;
  }
  EXPECT_EQ(os::cross_read(getpid(), nullptr, 0, 0), os::fallbacks_forced() ? ENOSYS : 0);
}

}  // namespace
