#pragma once

// Facts about the machine for a measurement's record, and what may spoil a measurement, for doctor. Every
// function asks anew, never throws, and has a value for "unknown". `root` stands before /proc and /sys (""
// for the running system; tests give made-up trees). See also topology.hpp, cpu_set.hpp, cgroup.hpp (quota,
// throttling), clock.hpp, membarrier_available(), memfd_available(), pidfd_available().

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace phicoll {
namespace os {

/// The CPU's name, with single blanks; implementer and part numbers where /proc/cpuinfo has no name; else
/// "unknown".
std::string cpu_model(const std::string& root = "");

/// What distinguishes CPUs of the same name: "family 26 model 2"; "" where the system does not say.
std::string cpu_details(const std::string& root = "");

/// The kernel's release, as uname -r.
std::string kernel_release();

/// "none" on bare metal as far as can be seen; else the hypervisor ("kvm", "vmware", "hyper-v", "xen",
/// "qemu", ...) or "unknown hypervisor".
std::string virtualisation();

/// "docker", "podman", "lxc", "kubernetes", "container" (some kind), or "none" as far as can be seen.
std::string container();

/// The frequency governor of each online CPU; "none" where the kernel has no frequency scaling (virtual
/// machines).
std::vector<std::pair<int, std::string>> frequency_governors(const std::string& root = "");

/// All CPUs' governors in one word: "performance", "none", ...; "mixed" when they differ.
std::string frequency_governor(const std::string& root = "");

/// Whether the clock may rise above the nominal one: "on", "off", or "unknown".
std::string frequency_boost(const std::string& root = "");

/// Transparent huge pages: "always", "madvise", "never", or "unknown"; the second for shared memory (also
/// "advise", ...).
std::string huge_pages(const std::string& root = "");
std::string huge_pages_shared(const std::string& root = "");

/// Load averages over 1, 5 and 15 minutes; negative when unknown.
std::array<double, 3> load_averages(const std::string& root = "");

/// Time of all CPUs since boot in clock ticks, from /proc/stat.
struct CpuTimes {
  bool known = false;
  std::uint64_t total = 0;
  std::uint64_t idle = 0;   ///< idle and waiting for disks
  std::uint64_t steal = 0;  ///< taken by the hypervisor for others
};
CpuTimes cpu_times(const std::string& root = "");

/// Share of the time between the two, 0 to 1, that was stolen, or busy; negative when unknown or the interval
/// is empty.
double steal_share(const CpuTimes& before, const CpuTimes& after);
double busy_share(const CpuTimes& before, const CpuTimes& after);

/// Installed memory in bytes; 0 when unknown.
std::uint64_t memory_total(const std::string& root = "");

/// kernel.yama.ptrace_scope (1: cross-process copy from descendants only, 2: with privilege, 3: never); -1
/// without Yama.
int ptrace_scope(const std::string& root = "");

/// kernel.perf_event_paranoid (3 and more: no counters without privilege); -100 when unknown.
int perf_event_paranoid(const std::string& root = "");

/// kernel.numa_balancing: 1 when the kernel moves pages between NUMA nodes by itself; -1 when unknown.
int numa_balancing(const std::string& root = "");

/// Whether SMT is active: 1, 0, or -1 when unknown.
int smt_active(const std::string& root = "");

/// Tries cross-process copies on two short-lived children: an errno code each, 0 when it works.
struct CrossCopyProbe {
  int from_child = 0;    ///< a launcher reads its child
  int from_sibling = 0;  ///< a rank reads another rank of the same launcher: what groups need
};
CrossCopyProbe probe_cross_copy();

}  // namespace os
}  // namespace phicoll
