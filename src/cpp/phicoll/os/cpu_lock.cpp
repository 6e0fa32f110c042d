#include "phicoll/os/cpu_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "phicoll/errors.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/environment.hpp"
#include "phicoll/os/text_file.hpp"

namespace phicoll {
namespace os {

namespace {

std::string lock_path(std::string directory, int cpu) {
  if (directory.empty())
    if (const char* const named = environment("PHICOLL_LOCK_FOLDER")) directory = named;
  if (directory.empty()) directory = "/tmp";
  return directory + "/phicoll-cpu-" + std::to_string(cpu) + ".lock";
}

// Opens the file for locking. The directory is writable by all, so: never through a symbolic link, only a
// regular file with one name, and without O_CREAT first, which the kernel refuses for another user's file in
// a sticky directory. Reading is enough for flock. Returns -1 with errno.
int open_lock(const std::string& path, bool* writable) {
  constexpr int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
  for (int attempt = 0; attempt < 100; ++attempt) {
    *writable = true;
    int fd = open(path.c_str(), O_RDWR | flags);
    if (fd < 0 && errno == ENOENT) {
      fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | flags, 0666);
      if (fd >= 0) fchmod(fd, 0666);  // whatever the umask: the next user must be able to write a name
      if (fd < 0 && errno == EEXIST) continue;
    }
    if (fd < 0 && (errno == EACCES || errno == EPERM || errno == EROFS)) {
      *writable = false;
      fd = open(path.c_str(), O_RDONLY | flags);
    }
    if (fd < 0) return -1;
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink <= 1) return fd;
    close(fd);
    errno = EINVAL;
    return -1;
  }
  errno = EAGAIN;
  return -1;
}

// The process's start in clock ticks since boot, field 22 of /proc/<pid>/stat: tells a process from a later
// one with the same number.
std::string start_time(const std::string& pid) {
  std::string text;
  if (!read_text("/proc/" + pid + "/stat", &text)) return std::string();
  const std::size_t name_end = text.rfind(')');  // the name may contain anything
  if (name_end == std::string::npos) return std::string();
  const std::vector<std::string> words = split_words(text.substr(name_end + 1));
  return words.size() > 19 ? words[19] : std::string();
}

std::string command_of(const std::string& pid) {
  std::string text;
  read_text("/proc/" + pid + "/cmdline", &text);
  std::replace(text.begin(), text.end(), '\0', ' ');
  text = trimmed(text);
  if (text.empty()) text = read_trimmed("/proc/" + pid + "/comm");
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = '?';
  return text.size() > 120 ? text.substr(0, 117) + "..." : text;
}

// The processes that have an flock on this file by the kernel's word. Empty when they are out of sight
// (another PID namespace). The inode alone is compared: some file systems show another device number here
// than stat() does.
std::vector<std::string> kernel_holders(int fd) {
  std::vector<std::string> pids;
  struct stat status;
  std::string text;
  if (fstat(fd, &status) != 0 || !read_text("/proc/locks", &text)) return pids;
  for (const std::string& line : split_lines(text)) {  // 1: FLOCK ADVISORY WRITE 1234 08:01:5678 0 EOF
    const std::vector<std::string> words = split_words(line);
    if (words.size() < 6 || words[1] != "FLOCK") continue;
    const std::size_t colon = words[5].rfind(':');
    if (colon == std::string::npos) continue;
    if (std::strtoull(words[5].c_str() + colon + 1, nullptr, 10) != status.st_ino) continue;
    if (words[4] != "0" && words[4][0] != '-') pids.push_back(words[4]);
  }
  return pids;
}

// Of the open file: another user may put any other there meanwhile, and the file may have any length.
std::string describe_holder(int fd) {
  char text[64];
  const ssize_t bytes = pread(fd, text, sizeof text, 0);
  const std::vector<std::string> words =
      split_words(std::string(text, static_cast<std::size_t>(bytes < 0 ? 0 : bytes)));  // pid, start time
  const std::vector<std::string> seen = kernel_holders(fd);
  std::string pid = seen.empty() ? std::string() : seen.front();
  const bool written = words.size() == 2 && words[0].find_first_not_of("0123456789") == std::string::npos &&
                       start_time(words[0]) == words[1];
  if (written && (seen.empty() || std::find(seen.begin(), seen.end(), words[0]) != seen.end()))
    pid = words[0];
  if (pid.empty()) return "a process that cannot be seen from here";
  const std::string command = command_of(pid);
  return "process " + pid + (command.empty() ? std::string() : " (" + command + ")");
}

void write_holder(int fd) {
  const std::string pid = std::to_string(static_cast<long>(getpid()));
  const std::string line = pid + " " + start_time(pid) + "\n";
  // A failure costs only the holder's name in another's message.
  if (ftruncate(fd, 0) != 0 || pwrite(fd, line.data(), line.size(), 0) < 0) errno = 0;
}

}  // namespace

CpuLock CpuLock::acquire(const std::vector<int>& cpus, double wait_s, const std::string& directory) {
  std::vector<int> order(
      cpus);  // ascending, once each: two processes that want the same CPUs cannot wait for each other
  std::sort(order.begin(), order.end());
  order.erase(std::unique(order.begin(), order.end()), order.end());
  const double patience_s =
      wait_s < 0 ? 1e18 : std::max(wait_s, 0.05);  // cpu_lock_holder() takes it for a moment
  const std::int64_t start = now_ns();
  CpuLock lock;
  lock.owner_ = getpid();
  for (const int cpu : order) {
    const std::string path = lock_path(directory, cpu);
    bool writable = false;
    const int fd = open_lock(path, &writable);
    if (fd < 0)
      throw ResourceError("the lock of CPU " + std::to_string(cpu) + " cannot be opened: " + path + ": " +
                          std::strerror(errno) + "; PHICOLL_LOCK_FOLDER names another folder");
    lock.descriptors_.push_back(fd);
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK)
        throw ResourceError("the lock of CPU " + std::to_string(cpu) + " cannot be taken: " + path + ": " +
                            std::strerror(errno));
      if (static_cast<double>(now_ns() - start) >= patience_s * 1e9)
        throw ResourceError("CPU " + std::to_string(cpu) + " is in use by another measurement: " +
                            describe_holder(fd) + "; wait for it, or use other CPUs");
      const timespec nap = {0, 20000000};
      nanosleep(&nap, nullptr);
    }
    if (writable) write_holder(fd);
    lock.cpus_.push_back(cpu);
  }
  return lock;
}

CpuLock::CpuLock(CpuLock&& other) noexcept
    : owner_(other.owner_), cpus_(std::move(other.cpus_)), descriptors_(std::move(other.descriptors_)) {
  other.cpus_.clear();
  other.descriptors_.clear();
}

CpuLock& CpuLock::operator=(CpuLock&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(cpus_, other.cpus_);
  std::swap(descriptors_, other.descriptors_);
  return *this;
}

CpuLock::~CpuLock() {
  release();
}

void CpuLock::release() {
  for (const int fd : descriptors_) {
    if (getpid() == owner_)
      flock(fd, LOCK_UN);  // a forked child has only a copy: the lock is not its to give back
    close(fd);
  }
  descriptors_.clear();
  cpus_.clear();
}

std::string cpu_lock_holder(int cpu, const std::string& directory) {
  const std::string path = lock_path(directory, cpu);
  const int fd = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::string();
  const bool busy = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  const std::string holder = busy ? describe_holder(fd) : std::string();
  close(fd);
  return holder;
}

}  // namespace os
}  // namespace phicoll
