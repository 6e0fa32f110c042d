#pragma once

// The control groups of this process, which hold a container's limits.

#include <cstdint>
#include <string>
#include <vector>

namespace phicoll {
namespace os {

struct CgroupDirectory {
  std::string path;
  bool v2;  ///< unified hierarchy; else the controller's own (v1)
};

/// The directories whose limits bind this process for `controller` ("cpu", "memory"), the innermost first, up
/// to what is mounted: a limit anywhere on the way counts. Both hierarchies are listed where both are
/// mounted. `root` is put before every path ("" for the running system); tests give a made-up tree.
std::vector<CgroupDirectory> cgroup_directories(const std::string& controller, const std::string& root = "");

/// Bytes that may still be charged before a memory limit of the container is met (page cache that is easily
/// given back counts as free, as in MemAvailable); -1 where there is no limit.
std::int64_t cgroup_memory_remaining(const std::string& root = "");

/// The CPU time that the container may use, in CPUs: the smallest quota over period on the way up; negative
/// without one.
double cgroup_cpu_quota(const std::string& root = "");

/// How often and how long the quota has stopped this process's group (cpu.stat).
struct ThrottleCounters {
  bool known = false;
  std::int64_t periods = 0;       ///< nr_periods
  std::int64_t throttled = 0;     ///< nr_throttled
  std::int64_t throttled_us = 0;  ///< throttled_usec, or throttled_time in microseconds
};
ThrottleCounters cgroup_throttling(const std::string& root = "");

}  // namespace os
}  // namespace phicoll
