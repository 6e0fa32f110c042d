#pragma once

// A lock for each CPU that a measurement uses, so that two measurements do not spoil each other. Advisory;
// gone when the process that holds it is gone.

#include <sys/types.h>

#include <string>
#include <vector>

namespace phicoll {
namespace os {

class CpuLock {
 public:
  /// Locks all of `cpus`, by flock on files phicoll-cpu-<n>.lock in `directory` (by default
  /// PHICOLL_LOCK_FOLDER, or else /tmp: those who measure on a machine have to agree). While another process
  /// holds one, waits up to `wait_s` seconds (0: hardly, negative: without limit), then throws a
  /// ResourceError that names the CPU and the holder's pid and command. All or nothing. A held lock is
  /// inherited by fork and kept until the child has ended too, but not by exec.
  static CpuLock acquire(const std::vector<int>& cpus, double wait_s, const std::string& directory = "");

  CpuLock() = default;
  CpuLock(CpuLock&& other) noexcept;
  CpuLock& operator=(CpuLock&& other) noexcept;
  CpuLock(const CpuLock&) = delete;
  CpuLock& operator=(const CpuLock&) = delete;
  ~CpuLock();

  void release();
  const std::vector<int>& cpus() const { return cpus_; }

 private:
  pid_t owner_ = -1;
  std::vector<int> cpus_;
  std::vector<int> descriptors_;
};

/// The process that holds the lock of `cpu`, as "process 123 (phicoll-bench run ...)"; "" when it is free.
std::string cpu_lock_holder(int cpu, const std::string& directory = "");

}  // namespace os
}  // namespace phicoll
