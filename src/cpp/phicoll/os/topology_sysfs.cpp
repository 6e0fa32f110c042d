#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>

#include "phicoll/os/text_file.hpp"
#include "phicoll/os/topology.hpp"

namespace phicoll {
namespace os {

namespace {

bool exists(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

std::string cpu_directory(const std::string& root, int cpu) {
  return root + "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
}

std::vector<int> read_list(const std::string& path) {
  std::vector<int> numbers;
  if (!parse_list(read_trimmed(path), &numbers)) numbers.clear();
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<int> online_cpus(const std::string& root) {
  const std::string base = root + "/sys/devices/system/cpu";
  std::vector<int> cpus = read_list(base + "/online");
  if (!cpus.empty()) return cpus;
  for (int cpu = 0; exists(cpu_directory(root, cpu)); ++cpu)
    if (read_integer(cpu_directory(root, cpu) + "/online", 1) != 0) cpus.push_back(cpu);
  if (!cpus.empty() || !root.empty()) return cpus;
  const long count = sysconf(_SC_NPROCESSORS_ONLN);  // no sysfs at all
  for (int cpu = 0; cpu < (count < 1 ? 1 : static_cast<int>(count)); ++cpu) cpus.push_back(cpu);
  return cpus;
}

std::map<int, int> numa_of_cpu(const std::string& root) {
  const std::string base = root + "/sys/devices/system/node";
  std::map<int, int> numa;
  for (const int node : read_list(base + "/online"))
    for (const int cpu : read_list(base + "/node" + std::to_string(node) + "/cpulist")) numa[cpu] = node;
  return numa;
}

// Numbers things in the order in which their first CPU comes by.
template <class Key>
class Numbering {
 public:
  int operator()(const Key& key) {
    return numbers_.emplace(key, static_cast<int>(numbers_.size())).first->second;
  }

 private:
  std::map<Key, int> numbers_;
};

std::size_t parse_size(const std::string& text) {  // "32K", "2048K", "16M"
  char* end = nullptr;
  const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
  const int shift = *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  return static_cast<std::size_t>(number) << shift;
}

}  // namespace

std::vector<Cache> read_caches_sysfs(int cpu, const std::string& root) {
  std::vector<Cache> caches;
  for (int index = 0;; ++index) {
    const std::string base = cpu_directory(root, cpu) + "/cache/index" + std::to_string(index);
    if (!exists(base)) break;
    Cache cache;
    cache.level = static_cast<int>(read_integer(base + "/level", 0));
    cache.type = read_trimmed(base + "/type");
    cache.size_bytes = parse_size(read_trimmed(base + "/size"));
    cache.line_bytes = static_cast<std::size_t>(read_integer(base + "/coherency_line_size", 0));
    cache.shared_cpus = read_list(base + "/shared_cpu_list");
    if (cache.level > 0) caches.push_back(cache);
  }
  std::sort(caches.begin(), caches.end(), [](const Cache& a, const Cache& b) {
    return std::make_pair(a.level, a.type) < std::make_pair(b.level, b.type);
  });
  return caches;
}

std::vector<CpuPlace> read_topology_sysfs(const std::string& root) {
  const std::map<int, int> numa = numa_of_cpu(root);
  // A core is known by its siblings where the kernel lists them, else by (package, die, core id): core ids
  // alone repeat in every package, and on some machines in every die.
  Numbering<std::vector<int>> core_numbers;
  Numbering<std::vector<int>> l2_numbers;
  Numbering<std::vector<int>> l3_numbers;
  std::vector<CpuPlace> places;
  for (const int cpu : online_cpus(root)) {
    CpuPlace place;
    place.cpu = cpu;
    const std::string topology = cpu_directory(root, cpu) + "/topology";
    place.package = static_cast<int>(read_integer(topology + "/physical_package_id", -1));
    std::vector<int> siblings = read_list(topology + "/core_cpus_list");  // Linux 5.3 on
    if (siblings.empty()) siblings = read_list(topology + "/thread_siblings_list");
    if (std::find(siblings.begin(), siblings.end(), cpu) != siblings.end()) {
      place.core = core_numbers(siblings);
    } else {
      const int core = static_cast<int>(read_integer(topology + "/core_id", -1));
      const int die = static_cast<int>(read_integer(topology + "/die_id", -1));
      // Nothing known: a core of its own (keys with a negative first number cannot be lists of CPUs).
      place.core = core < 0 ? core_numbers({-2, cpu}) : core_numbers({-1, place.package, die, core});
    }
    for (const Cache& cache : read_caches_sysfs(cpu, root)) {
      if (cache.type == "Instruction" || cache.shared_cpus.empty()) continue;
      if (cache.level == 2) place.l2 = l2_numbers(cache.shared_cpus);
      if (cache.level == 3) place.l3 = l3_numbers(cache.shared_cpus);
    }
    const auto node = numa.find(cpu);
    if (node != numa.end()) place.numa = node->second;
    places.push_back(place);
  }
  return places;
}

}  // namespace os
}  // namespace phicoll
