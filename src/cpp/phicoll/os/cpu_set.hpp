#pragma once

// Which CPUs this process may use, how many of them its container pays for, and pinning.

#include <string>
#include <vector>

namespace phicoll {
namespace os {

/// The CPUs of this thread's affinity set, ascending.
std::vector<int> allowed_cpus();
/// Those that are not among `cpus`.
std::vector<int> allowed_cpus_but(const std::vector<int>& cpus);

/// The CPUs of the host, whether this process may use them or not; at least 1.
int host_cpu_count();

/// The container's CPU quota in CPUs (cgroup v2 cpu.max or v1 cfs_quota, the smallest on the way up);
/// negative without one.
double cpu_quota();

/// How many ranks can run at once on so many CPUs: at most the quota, as of the first call, rounded up; at
/// least 1.
int cpus_at_once(int cpus);
/// The same for this thread's affinity set.
int allowed_cpu_count();

/// Pins the calling thread to one CPU. ResourceError when the system refuses.
void pin_this_thread(int cpu);

/// Gives the calling thread the set back, as from allowed_cpus(). ResourceError when the system refuses.
void set_thread_cpus(const std::vector<int>& cpus);

/// Moves the calling thread to one of these CPUs that it may use. Its set is the same afterwards, but the
/// system takes it for one that the program has asked for. Returns false if it may use none of them, or the
/// system refuses.
bool move_to_cpus(const std::vector<int>& cpus);

/// The CPU that the calling thread is on; -1 when unknown.
int current_cpu();

/// Parses a list such as `0,2,4-7`, in its order. ArgumentError("placement") when it is malformed or empty,
/// repeats a CPU, or names one outside `allowed`.
std::vector<int> parse_cpu_list(const std::string& text, const std::vector<int>& allowed);
std::vector<int> parse_cpu_list(const std::string& text);  ///< allowed: allowed_cpus()

/// The inverse for ascending lists: {0, 1, 2, 5} is "0-2,5".
std::string format_cpu_list(const std::vector<int>& cpus);

}  // namespace os
}  // namespace phicoll
