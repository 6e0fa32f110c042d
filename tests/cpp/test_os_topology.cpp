// Topologies from made-up sysfs trees and from this machine; CPU lists, sets, quotas.

#include <algorithm>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "os_test_tree.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/os/cgroup.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/text_file.hpp"
#include "phicoll/os/topology.hpp"

namespace os = phicoll::os;

namespace {

std::string cpu_path(int cpu) {
  return "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
}

void write_cache(TestTree* tree, int cpu, int index, int level, const std::string& type,
                 const std::string& size, const std::string& shared) {
  const std::string base = cpu_path(cpu) + "/cache/index" + std::to_string(index);
  tree->write(base + "/level", std::to_string(level) + "\n");
  tree->write(base + "/type", type + "\n");
  tree->write(base + "/size", size + "\n");
  tree->write(base + "/coherency_line_size", "64\n");
  tree->write(base + "/shared_cpu_list", shared + "\n");
}

// 2 packages of 4 cores of 2 threads. As Linux numbers them: CPU c and c + 8 are siblings, packages hold CPUs
// 0-3,8-11 and 4-7,12-15, core ids repeat in each package; an L3 for every two cores.
void write_two_packages(TestTree* tree) {
  tree->write("/sys/devices/system/cpu/online", "0-15\n");
  tree->write("/sys/devices/system/node/online", "0-1\n");
  tree->write("/sys/devices/system/node/node0/cpulist", "0-3,8-11\n");
  tree->write("/sys/devices/system/node/node1/cpulist", "4-7,12-15\n");
  for (int cpu = 0; cpu < 16; ++cpu) {
    const int core = cpu % 8;
    const std::string siblings = std::to_string(core) + "," + std::to_string(core + 8);
    const int pair = core / 2 * 2;
    const std::string l3 = std::to_string(pair) + "-" + std::to_string(pair + 1) + "," +
                           std::to_string(pair + 8) + "-" + std::to_string(pair + 9);
    tree->write(cpu_path(cpu) + "/topology/physical_package_id", std::to_string(core / 4) + "\n");
    tree->write(cpu_path(cpu) + "/topology/core_id", std::to_string(core % 4) + "\n");
    tree->write(cpu_path(cpu) + "/topology/thread_siblings_list", siblings + "\n");
    write_cache(tree, cpu, 0, 1, "Data", "32K", siblings);
    write_cache(tree, cpu, 1, 1, "Instruction", "32K", siblings);
    write_cache(tree, cpu, 2, 2, "Unified", "1024K", siblings);
    write_cache(tree, cpu, 3, 3, "Unified", "16M", l3);
  }
}

TEST(SysfsTopology, TwoPackagesWithSeveralL3) {
  TestTree tree;
  write_two_packages(&tree);
  const std::vector<os::CpuPlace> places = os::read_topology_sysfs(tree.root());
  ASSERT_EQ(places.size(), 16u);
  for (int cpu = 0; cpu < 16; ++cpu) {
    const os::CpuPlace& place = places[static_cast<std::size_t>(cpu)];
    const int core = cpu % 8;
    EXPECT_EQ(place.cpu, cpu);
    EXPECT_EQ(place.core, core);  // unique over the packages although the kernel's ids repeat
    EXPECT_EQ(place.l2, core);
    EXPECT_EQ(place.l3, core / 2);
    EXPECT_EQ(place.numa, core / 4);
    EXPECT_EQ(place.package, core / 4);
  }
}

TEST(SysfsTopology, CoreIdsStandInForMissingSiblingLists) {
  TestTree tree;
  write_two_packages(&tree);
  for (int cpu = 0; cpu < 16; ++cpu) tree.remove(cpu_path(cpu) + "/topology/thread_siblings_list");
  const std::vector<os::CpuPlace> places = os::read_topology_sysfs(tree.root());
  ASSERT_EQ(places.size(), 16u);
  for (int cpu = 0; cpu < 16; ++cpu) EXPECT_EQ(places[static_cast<std::size_t>(cpu)].core, cpu % 8);
}

TEST(SysfsTopology, AnOfflineCpuIsLeftOut) {
  TestTree tree;
  write_two_packages(&tree);
  tree.write("/sys/devices/system/cpu/online", "0-4,6-15\n");
  const std::vector<os::CpuPlace> places = os::read_topology_sysfs(tree.root());
  ASSERT_EQ(places.size(), 15u);
  EXPECT_EQ(places[5].cpu, 6);
}

TEST(SysfsTopology, WhatIsMissingIsUnknown) {
  TestTree tree;
  tree.write("/sys/devices/system/cpu/online", "0-2\n");
  tree.write("/sys/devices/system/cpu/cpu0/topology/physical_package_id", "-1\n");
  tree.write("/sys/devices/system/cpu/cpu1/topology/core_id", "nonsense\n");
  const std::vector<os::CpuPlace> places = os::read_topology_sysfs(tree.root());
  ASSERT_EQ(places.size(), 3u);
  for (int cpu = 0; cpu < 3; ++cpu) {
    const os::CpuPlace& place = places[static_cast<std::size_t>(cpu)];
    EXPECT_EQ(place.core, cpu);  // a core of its own: nothing speaks for a shared one
    EXPECT_EQ(place.l2, -1);
    EXPECT_EQ(place.l3, -1);
    EXPECT_EQ(place.numa, -1);
    EXPECT_EQ(place.package, -1);
  }
  EXPECT_TRUE(os::read_caches_sysfs(0, tree.root()).empty());
}

TEST(SysfsTopology, AnEmptyTreeHasNoCpus) {
  TestTree tree;
  EXPECT_TRUE(os::read_topology_sysfs(tree.root()).empty());
}

TEST(SysfsTopology, Caches) {
  TestTree tree;
  write_two_packages(&tree);
  const std::vector<os::Cache> caches = os::read_caches_sysfs(12, tree.root());
  ASSERT_EQ(caches.size(), 4u);
  EXPECT_EQ(caches[0].type, "Data");
  EXPECT_EQ(caches[0].size_bytes, 32u << 10);
  EXPECT_EQ(caches[1].type, "Instruction");
  EXPECT_EQ(caches[3].level, 3);
  EXPECT_EQ(caches[3].size_bytes, 16u << 20);
  EXPECT_EQ(caches[3].line_bytes, 64u);
  EXPECT_EQ(caches[3].shared_cpus, (std::vector<int>{4, 5, 12, 13}));
}

TEST(Topology, OfThisMachineHoldsTheAllowedCpus) {
  const std::vector<os::CpuPlace> places = os::read_topology();
  for (const int cpu : os::allowed_cpus()) {
    const bool found = std::any_of(places.begin(), places.end(),
                                   [cpu](const os::CpuPlace& place) { return place.cpu == cpu; });
    EXPECT_TRUE(found) << "CPU " << cpu;
  }
}

TEST(Topology, HwlocAndSysfsAgreeOnThisMachine) {
  std::vector<os::CpuPlace> by_hwloc;
  if (!os::read_topology_hwloc(&by_hwloc)) GTEST_SKIP() << "built without hwloc";
  const std::vector<os::CpuPlace> by_sysfs = os::read_topology_sysfs();
  ASSERT_EQ(by_hwloc.size(), by_sysfs.size());
  for (std::size_t i = 0; i < by_hwloc.size(); ++i) {
    const os::CpuPlace& a = by_hwloc[i];
    const os::CpuPlace& b = by_sysfs[i];
    EXPECT_EQ(a.cpu, b.cpu);
    EXPECT_EQ(a.core, b.core) << "CPU " << a.cpu;
    // What one source does not tell is no disagreement: hwloc fills in a NUMA node, and some kernels hide
    // caches.
    if (a.l2 >= 0 && b.l2 >= 0) {
      EXPECT_EQ(a.l2, b.l2) << "CPU " << a.cpu;
    }
    if (a.l3 >= 0 && b.l3 >= 0) {
      EXPECT_EQ(a.l3, b.l3) << "CPU " << a.cpu;
    }
    if (a.numa >= 0 && b.numa >= 0) {
      EXPECT_EQ(a.numa, b.numa) << "CPU " << a.cpu;
    }
    if (a.package >= 0 && b.package >= 0) {
      EXPECT_EQ(a.package, b.package) << "CPU " << a.cpu;
    }
  }
}

TEST(CpuList, ParsesListsInTheirOrder) {
  std::vector<int> allowed;
  for (int cpu = 0; cpu < 8; ++cpu) allowed.push_back(cpu);
  EXPECT_EQ(os::parse_cpu_list("0,2,4-7", allowed), (std::vector<int>{0, 2, 4, 5, 6, 7}));
  EXPECT_EQ(os::parse_cpu_list("3,1", allowed), (std::vector<int>{3, 1}));
  EXPECT_EQ(os::parse_cpu_list(" 5 ", allowed), (std::vector<int>{5}));
}

TEST(CpuList, RefusesWhatIsNoListOfAllowedCpus) {
  const std::vector<int> allowed = {0, 1, 2, 3};
  for (const char* text : {"", ",", "1,", ",1", "1,,2", "a", "1-", "-1", "3-1", "1-2-3", "1 2", "0x1", "1.5",
                           "99999999999999999999", "0,0", "0-2,1", "4", "0-7"}) {
    try {
      os::parse_cpu_list(text, allowed);
      ADD_FAILURE() << "accepted '" << text << "'";
    } catch (const phicoll::ArgumentError& error) {
      EXPECT_EQ(error.argument(), "placement") << text;
    }
  }
  try {
    os::parse_cpu_list("0,9", allowed);
    FAIL();
  } catch (const phicoll::ArgumentError& error) {
    EXPECT_NE(std::string(error.what()).find("0-3"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("CPU 9"), std::string::npos) << error.what();
  }
}

TEST(CpuList, IsWrittenAsTheKernelWritesIt) {
  EXPECT_EQ(os::format_cpu_list({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(os::format_cpu_list({}), "");
}

TEST(CpuSet, PinningMovesTheThreadAndNoOther) {
  const std::vector<int> allowed = os::allowed_cpus();
  ASSERT_FALSE(allowed.empty());
  std::thread pinned([&] {
    for (const int cpu : allowed) {
      os::pin_this_thread(cpu);
      EXPECT_EQ(os::current_cpu(), cpu);
      EXPECT_EQ(os::allowed_cpus(), std::vector<int>{cpu});
    }
    os::set_thread_cpus(allowed);
    EXPECT_EQ(os::allowed_cpus(), allowed);
    EXPECT_THROW(os::pin_this_thread(100000), phicoll::ResourceError);
    EXPECT_THROW(os::pin_this_thread(-1), phicoll::ResourceError);
  });
  pinned.join();
  EXPECT_EQ(os::allowed_cpus(), allowed);
  EXPECT_GE(os::allowed_cpu_count(), 1);
  EXPECT_LE(os::allowed_cpu_count(), static_cast<int>(allowed.size()));
}

TEST(CpuSet, AThreadMovesAndKeepsItsSet) {
  const std::vector<int> allowed = os::allowed_cpus();
  if (allowed.size() < 2) GTEST_SKIP() << "one CPU";
  EXPECT_EQ(os::allowed_cpus_but({allowed[0], -1}), std::vector<int>(allowed.begin() + 1, allowed.end()));
  std::thread([&] {
    int moved = 0;
    for (int i = 0; i < 20; ++i) {  // the system may move it back at once
      const int here = allowed[static_cast<std::size_t>(i) % 2];
      const int there = allowed[static_cast<std::size_t>(i + 1) % 2];
      os::pin_this_thread(here);
      os::set_thread_cpus(allowed);
      ASSERT_TRUE(os::move_to_cpus({there, allowed.back() + 1}));
      moved += os::current_cpu() == there ? 1 : 0;
      ASSERT_EQ(os::allowed_cpus(), allowed);
    }
    EXPECT_GT(moved, 10);
    EXPECT_FALSE(os::move_to_cpus({allowed.back() + 1}));
    EXPECT_EQ(os::allowed_cpus(), allowed);
  }).join();
}

TEST(Cgroup, V2QuotaIsTheSmallestOnTheWayUp) {
  TestTree tree;
  tree.write("/proc/self/cgroup", "0::/a/b\n");
  tree.write("/proc/self/mountinfo",
             "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n");
  EXPECT_LT(os::cgroup_cpu_quota(tree.root()), 0);
  tree.write("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  tree.write("/sys/fs/cgroup/a/b/cpu.stat",
             "usage_usec 5\nnr_periods 10\nnr_throttled 3\nthrottled_usec 400\n");
  tree.write("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
  EXPECT_DOUBLE_EQ(os::cgroup_cpu_quota(tree.root()), 1.5);
  const os::ThrottleCounters counters = os::cgroup_throttling(tree.root());
  EXPECT_TRUE(counters.known);
  EXPECT_EQ(counters.throttled, 3);
  EXPECT_EQ(counters.throttled_us, 400);
}

TEST(Cgroup, V1InAContainerThatSeesTheHostsPath) {
  TestTree tree;
  tree.write("/proc/self/cgroup",
             "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n1:name=systemd:/docker/abc\n");
  tree.write("/proc/self/mountinfo",
             "40 31 0:30 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro master:1 - cgroup cgroup rw,cpu,cpuacct\n"
             "41 31 0:31 /docker/abc /sys/fs/cgroup/memory ro master:2 - cgroup cgroup rw,memory\n");
  tree.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  tree.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  tree.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n");
  tree.write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "900000\n");
  tree.write("/sys/fs/cgroup/memory/memory.stat",
             "cache 1\ntotal_inactive_file 200000\ntotal_active_file 100000\n");
  EXPECT_DOUBLE_EQ(os::cgroup_cpu_quota(tree.root()), 0.5);
  EXPECT_EQ(os::cgroup_memory_remaining(tree.root()), 350000);
  tree.write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  tree.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_LT(os::cgroup_cpu_quota(tree.root()), 0);
  EXPECT_EQ(os::cgroup_memory_remaining(tree.root()), -1);
}

TEST(Cgroup, V2MemoryLimitOfAParentCounts) {
  TestTree tree;
  tree.write("/proc/self/cgroup", "0::/a/b\n");
  tree.write("/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  tree.write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  tree.write("/sys/fs/cgroup/a/memory.max", "1000\n");
  tree.write("/sys/fs/cgroup/a/memory.current", "1200\n");
  EXPECT_EQ(os::cgroup_memory_remaining(tree.root()), 0);
}

TEST(Cgroup, NothingMountedIsNoLimit) {
  TestTree tree;
  EXPECT_TRUE(os::cgroup_directories("cpu", tree.root()).empty());
  EXPECT_LT(os::cgroup_cpu_quota(tree.root()), 0);
  EXPECT_EQ(os::cgroup_memory_remaining(tree.root()), -1);
  EXPECT_FALSE(os::cgroup_throttling(tree.root()).known);
}

}  // namespace
