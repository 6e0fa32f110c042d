#include "phicoll/os/shared_memory.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "phicoll/errors.hpp"
#include "phicoll/os/cgroup.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/descriptor.hpp"
#include "phicoll/os/environment.hpp"
#include "phicoll/os/fallbacks.hpp"
#include "phicoll/os/text_file.hpp"

namespace phicoll {
namespace os {

namespace {

constexpr const char* shm_directory = "/dev/shm";

std::size_t page_bytes() {
  static const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

std::string describe(std::size_t bytes) {
  if (bytes == std::numeric_limits<std::size_t>::max()) return "an unknown number of bytes";
  return std::to_string(bytes) + " bytes (" + std::to_string(bytes >> 20) + " MB)";
}

int open_memfd(const std::string& label) {
#ifdef SYS_memfd_create
  if (fallbacks_forced()) return -1;
  constexpr unsigned close_on_exec = 1;
  constexpr unsigned allow_sealing = 2;
  constexpr unsigned not_executable = 8;  // Linux 6.3; older kernels refuse it with EINVAL
  long fd = syscall(SYS_memfd_create, label.c_str(), close_on_exec | allow_sealing | not_executable);
  if (fd < 0 && errno == EINVAL) fd = syscall(SYS_memfd_create, label.c_str(), close_on_exec | allow_sealing);
  return static_cast<int>(fd);
#else
  (void)label;
  return -1;
#endif
}

// No process may shrink it under a peer: a store beyond the end of a file is a SIGBUS.
void seal_size(int fd) {
#if defined(F_ADD_SEALS) && defined(F_SEAL_SHRINK)
  fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
#else
  (void)fd;
#endif
}

// A file without a name: O_TMPFILE (Linux 3.11), else a name that is unlinked at once. In /dev/shm this is
// what shm_open does, without the need for librt on older systems.
int open_unlinked(const std::string& directory, const std::string& label) {
#ifdef O_TMPFILE
  const int unnamed = open(directory.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
  if (unnamed >= 0) return unnamed;
#endif
  static std::atomic<unsigned> serial{0};
  for (int attempt = 0; attempt < 100; ++attempt) {
    char unique[64];
    std::snprintf(unique, sizeof unique, "-%ld-%u-%llx", static_cast<long>(getpid()),
                  serial.fetch_add(1, std::memory_order_relaxed), static_cast<unsigned long long>(now_ns()));
    std::string name = label;
    std::replace(name.begin(), name.end(), '/', '-');
    const std::string path = directory + "/" + name + unique;
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0) {
      unlink(path.c_str());
      return fd;
    }
    if (errno != EEXIST) return -1;
  }
  return -1;
}

[[noreturn]] void refuse(const std::string& what, std::size_t asked, std::size_t available, int error) {
  std::string message =
      "shared memory: " + what + ": asked for " + describe(asked) + ", available are " + describe(available);
  if (error != 0) message += std::string(" (") + std::strerror(error) + ")";
  throw ResourceError(message);
}

// Makes the file as long as asked for. Beyond the process's limit for files the kernel would end the process
// by SIGXFSZ instead of failing.
void lengthen(int fd, const std::string& label, std::size_t bytes) {
  const std::size_t rounded = (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < rounded)
    refuse(label + ": a file's length is limited here (ulimit -f)", bytes,
           static_cast<std::size_t>(limit.rlim_cur), 0);
  if (ftruncate(fd, static_cast<off_t>(rounded)) != 0) refuse(label, bytes, memory_available(), errno);
}

std::size_t free_bytes(const struct statvfs& status) {
  return static_cast<std::size_t>(status.f_bavail) * static_cast<std::size_t>(status.f_frsize);
}

std::size_t mem_available() {
  std::string text;
  if (!read_text("/proc/meminfo", &text)) return std::numeric_limits<std::size_t>::max();
  std::size_t available = 0;
  std::size_t estimate = 0;  // for kernels before 3.14, which have no MemAvailable
  bool found = false;
  for (const std::string& line : split_lines(text)) {
    const std::vector<std::string> words = split_words(line);
    if (words.size() < 2) continue;
    const std::size_t bytes = static_cast<std::size_t>(std::strtoull(words[1].c_str(), nullptr, 10)) * 1024;
    if (words[0] == "MemAvailable:") {
      available = bytes;
      found = true;
    }
    if (words[0] == "MemFree:" || words[0] == "Buffers:" || words[0] == "Cached:") estimate += bytes;
    if (words[0] == "Shmem:") estimate -= std::min(estimate, bytes);
  }
  return found ? available : estimate;
}

// Has the file system hold a range of a file. Returns 0 or an errno code: EOPNOTSUPP or ENOSYS where it
// cannot be asked to, as tmpfs before Linux 3.5. Not posix_fallocate: where that is so, glibc's writes back
// bytes that it read a moment earlier, over what a peer stores meanwhile.
int allocate(int descriptor, std::size_t offset, std::size_t bytes) {
  // In steps: a signal makes the kernel give back the whole step, and a large one might never come to its
  // end.
  constexpr std::size_t step = std::size_t{16} << 20;
  while (bytes > 0) {
    const std::size_t part = std::min(bytes, step);
    if (fallocate(descriptor, 0, static_cast<off_t>(offset), static_cast<off_t>(part)) != 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    offset += part;
    bytes -= part;
  }
  return 0;
}

// The same through the mapping, from a page's start on. The kernel sets no bit in a word of each page,
// atomically; what a peer has stored there stays. A full file system is an error code here, and a SIGBUS if
// the process itself stored.
int touch_by_kernel(unsigned char* from, std::size_t bytes) {
  constexpr std::uint32_t set_nothing = FUTEX_OP(FUTEX_OP_OR, 0, FUTEX_OP_CMP_LT, 0);
  for (std::size_t at = 0; at < bytes; at += page_bytes())
    // It also wakes a sleeper or two on that word, who looks again.
    if (syscall(SYS_futex, from + at, FUTEX_WAKE_OP, 0, nullptr, from + at, set_nothing) < 0)
      return errno == EFAULT ? ENOSPC : errno;
  return 0;
}

// Maps pages that the file system holds for writing, from a page's start on. What a peer has stored there
// stays.
void touch(unsigned char* from, std::size_t bytes) {
  constexpr int populate_write = 23;  // MADV_POPULATE_WRITE, from Linux 5.14 on
  if (madvise(from, bytes, populate_write) == 0) return;
  for (std::size_t at = 0; at < bytes; at += page_bytes())
    __atomic_fetch_or(from + at, static_cast<unsigned char>(0), __ATOMIC_RELAXED);
}

}  // namespace

bool memfd_available() {
  static const bool available = [] {
    const int fd = open_memfd("phicoll-probe");
    if (fd < 0) return false;
    close(fd);
    return true;
  }();
  return available;
}

std::size_t memory_available() {
  std::size_t available = mem_available();
  const std::int64_t remaining = cgroup_memory_remaining();
  if (remaining >= 0) available = std::min(available, static_cast<std::size_t>(remaining));
  struct statvfs status;
  if (!memfd_available() && statvfs(shm_directory, &status) == 0)
    available = std::min(available, free_bytes(status));
  return available;
}

int unnamed_file(const std::string& label) {
  const int memfd = beyond_standard_streams(open_memfd(label));
  if (memfd >= 0) return memfd;
  const char* const tmpdir = environment("TMPDIR");
  for (const char* const directory : {shm_directory, tmpdir, "/tmp", "/var/tmp"}) {
    if (directory == nullptr || directory[0] == '\0') continue;
    const int file = beyond_standard_streams(open_unlinked(directory, label));
    if (file >= 0) return file;
  }
  return -1;
}

SharedMemory SharedMemory::create(const std::string& label, std::size_t bytes) {
  if (bytes == 0) throw ArgumentError("bytes", "0", "1 or more");
  const std::size_t available = memory_available();
  if (bytes > available) refuse(label, bytes, available, 0);
  SharedMemory memory(unnamed_file(label), bytes);
  if (memory.descriptor_ < 0)
    refuse(label + ": no memfd, and no file in /dev/shm, TMPDIR, /tmp or /var/tmp", bytes, available, errno);
  lengthen(memory.descriptor_, label, bytes);
  seal_size(memory.descriptor_);
  memory.map();
  return memory;
}

SharedMemory SharedMemory::create_in(const std::string& directory, const std::string& label,
                                     std::size_t bytes) {
  if (bytes == 0) throw ArgumentError("bytes", "0", "1 or more");
  SharedMemory memory(beyond_standard_streams(open_unlinked(directory, label)), bytes);
  if (memory.descriptor_ < 0)
    throw ResourceError("shared memory: no file can be made in " + directory + ": " + std::strerror(errno));
  lengthen(memory.descriptor_, label, bytes);
  memory.map();
  return memory;
}

SharedMemory SharedMemory::from_descriptor(int descriptor, std::size_t bytes) {
  struct stat status;
  if (fstat(descriptor, &status) != 0)
    throw ArgumentError("descriptor", std::to_string(descriptor), "an open descriptor of shared memory");
  const std::size_t length = static_cast<std::size_t>(status.st_size);
  if (length == 0)
    throw ArgumentError("descriptor", std::to_string(descriptor) + ", which has no bytes of memory",
                        "an open descriptor of shared memory");
  if (bytes > length)
    throw ArgumentError("bytes", std::to_string(bytes),
                        "at most the memory's size, " + std::to_string(length));
  SharedMemory memory(descriptor, bytes == 0 ? length : bytes);
  memory.map();
  return memory;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : descriptor_(other.descriptor_), bytes_(other.bytes_), data_(other.data_) {
  other.descriptor_ = -1;
  other.bytes_ = 0;
  other.data_ = nullptr;
}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(bytes_, other.bytes_);
  std::swap(data_, other.data_);
  return *this;
}

SharedMemory::~SharedMemory() {
  unmap();
  close_descriptor();
}

void* SharedMemory::map() {
  if (data_ != nullptr) return data_;
  void* address = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (address == MAP_FAILED) refuse("mapping", bytes_, memory_available(), errno);
  data_ = address;
  return data_;
}

void SharedMemory::unmap() {
  if (data_ != nullptr) munmap(data_, bytes_);
  data_ = nullptr;
}

void SharedMemory::close_descriptor() {
  if (descriptor_ >= 0) close(descriptor_);
  descriptor_ = -1;
}

void SharedMemory::reserve(std::size_t offset, std::size_t bytes) {
  if (offset > bytes_ || bytes > bytes_ - offset)
    throw ArgumentError("range", std::to_string(offset) + " + " + std::to_string(bytes),
                        "within the memory's " + std::to_string(bytes_) + " bytes");
  if (bytes == 0) return;
  const std::size_t available = memory_available();
  if (bytes > available) refuse("reserving", bytes, available, 0);
  auto* const memory = static_cast<unsigned char*>(map());
  const std::size_t first = offset / page_bytes() * page_bytes();
  int error = allocate(descriptor_, offset, bytes);
  if (error == EOPNOTSUPP || error == ENOSYS) error = touch_by_kernel(memory + first, offset + bytes - first);
  if (error != 0) {
    std::size_t left = memory_available();
    struct statvfs status;
    if (fstatvfs(descriptor_, &status) == 0 && status.f_blocks > 0) left = std::min(left, free_bytes(status));
    refuse("reserving", bytes, left, error);
  }
  touch(memory + first, offset + bytes - first);
}

}  // namespace os
}  // namespace phicoll
