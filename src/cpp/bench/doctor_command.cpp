// `phicoll-bench doctor`: what on this machine would spoil a measurement, and what to do about it.

#include <unistd.h>

#include <cstdio>

#include "bench/command_line.hpp"
#include "bench/commands.hpp"
#include "bench/openmp_libraries.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/clock_facts.hpp"
#include "phicoll/os/cgroup.hpp"
#include "phicoll/os/cpu_lock.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/facts.hpp"
#include "phicoll/os/liveness.hpp"
#include "phicoll/os/membarrier.hpp"
#include "phicoll/os/shared_memory.hpp"
#include "phicoll/os/topology.hpp"

namespace phicoll {
namespace bench {

namespace {

void fact(const char* name, const std::string& value) {
  std::printf("%-24s %s\n", name, value.c_str());
}

}  // namespace

int doctor_command(const std::vector<std::string>& words) {
  const CommandLine arguments(words, command_page("doctor"));
  if (!arguments.alone().empty())
    throw ArgumentError("doctor", "'" + arguments.alone()[0] + "'", "no argument");
  std::vector<std::string> advice;
  const std::vector<int> allowed = os::allowed_cpus();
  fact("CPU", os::cpu_model());
  fact("kernel", os::kernel_release());
  fact("virtualisation", os::virtualisation() + ", container: " + os::container());
  if (os::virtualisation() != "none")
    advice.push_back(
        "A virtual machine: the cost of a line between two CPUs may jump within seconds. Compare within "
        "rounds (compare does), and look at the label same-core.");
  const os::CpuTimes before = os::cpu_times();
  usleep(300 * 1000);
  const os::CpuTimes after = os::cpu_times();
  const measure::ClockFacts clock = measure::measure_clock();
  fact("CPUs allowed",
       os::format_cpu_list(allowed) + " (" + std::to_string(os::allowed_cpu_count()) + " at once)");
  fact("CPU quota", os::cpu_quota() < 0 ? "none" : json_number(os::cpu_quota(), 2));
  if (os::cpu_quota() >= 0)
    advice.push_back(
        "The container's CPU quota stops ranks now and then: measure with fewer ranks, or without it.");
  const os::ThrottleCounters throttle = os::cgroup_throttling();
  if (throttle.known && throttle.throttled > 0)
    advice.push_back("The container was throttled " + std::to_string(throttle.throttled) + " times so far.");
  std::string cores;
  for (const os::CpuPlace& place : os::read_topology())
    cores +=
        (cores.empty() ? "" : ", ") + std::to_string(place.cpu) + " on core " + std::to_string(place.core);
  fact("topology", cores.substr(0, 200) + " (" + os::topology_source() + ")");
  if (os::smt_active() == 1)
    advice.push_back("SMT is on: pin one rank per core (--placement scatter), or report the sharing.");
  const std::string governor = os::frequency_governor();
  fact("governor, boost", governor + ", " + os::frequency_boost());
  if (governor != "none" && governor != "performance")
    advice.push_back("The frequency governor is " + governor + ": cpupower frequency-set -g performance");
  fact("huge pages", os::huge_pages() + ", shared memory " + os::huge_pages_shared());
  const double steal = os::steal_share(before, after);
  const double busy = os::busy_share(before, after);
  fact("load now",
       busy < 0 ? "unknown"
                : json_number(100 * busy, 0) + " % busy, " + json_number(100 * steal, 1) + " % stolen");
  if (busy > 0.2) advice.push_back("Something else is running here, and a measurement now would include it.");
  if (steal > 0.01) advice.push_back("The host takes CPU time away (steal): repeat at another time.");
  fact("clock", std::string(clock.clock.cycle_counter != 0 ? "cycle counter" : "CLOCK_MONOTONIC") +
                    ", step " + json_number(clock.resolution_ns, 2) + " ns, read " +
                    json_number(clock.overhead_ns, 2) + " ns, CPUs apart by " +
                    json_number(clock.offset_ns, 2) + " ns");
  if (!clock.invariant)
    advice.push_back("The cycle counter is not invariant: windows are timed by the system's clock.");
  fact("membarrier", os::membarrier_available() ? "yes" : "no: sleepers wake after 10 ms at the latest");
  fact("pidfd", os::pidfd_available() ? "yes" : "no: robust mutexes watch for deaths");
  fact("memfd", os::memfd_available() ? "yes" : "no: unlinked files instead");
  fact("perf counters",
       os::perf_event_paranoid() <= 2 ? "allowed" : "not allowed (kernel.perf_event_paranoid)");
  if (os::numa_balancing() == 1)
    advice.push_back("The kernel moves pages between NUMA nodes: sysctl kernel.numa_balancing=0");
  for (const int cpu : allowed) {
    const std::string holder = os::cpu_lock_holder(cpu);
    if (!holder.empty())
      advice.push_back("CPU " + std::to_string(cpu) + " is in use for a measurement by " + holder + ".");
  }
  std::string libraries;
  for (const auto& entry : find_openmp("")) libraries += (libraries.empty() ? "" : ", ") + entry.first;
  fact("OpenMP references", libraries.empty() ? "none" : libraries);
  if (advice.empty()) std::printf("\nNothing found that would spoil a measurement.\n");
  for (std::size_t i = 0; i < advice.size(); ++i)
    std::printf("%s- %s\n", i == 0 ? "\n" : "", advice[i].c_str());
  return 0;
}

}  // namespace bench
}  // namespace phicoll
