#include "phicoll/os/cgroup.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>

#include "phicoll/os/text_file.hpp"

namespace phicoll {
namespace os {

namespace {

bool is_directory(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool has_item(const std::string& list, const std::string& item) {
  return ("," + list + ",").find("," + item + ",") != std::string::npos;
}

// A container may see its group's path as the host does while only its own part is mounted: the mount's root
// is taken off the front. What lies outside the mount, or is not there, is read at the mount point itself.
void add_directories(const std::string& mount_point, const std::string& mount_root, std::string group,
                     bool v2, std::vector<CgroupDirectory>* directories) {
  if (mount_root != "/") {
    if (group.compare(0, mount_root.size(), mount_root) == 0 &&
        (group.size() == mount_root.size() || group[mount_root.size()] == '/'))
      group = group.substr(mount_root.size());
    else
      group.clear();
  }
  if (group.find("/..") != std::string::npos || !is_directory(mount_point + group)) group.clear();
  while (!group.empty() && group != "/") {
    directories->push_back(CgroupDirectory{mount_point + group, v2});
    group.resize(group.rfind('/'));
  }
  directories->push_back(CgroupDirectory{mount_point, v2});
}

// `name value` lines, as in memory.stat and cpu.stat.
bool stat_value(const std::string& text, const std::string& name, std::int64_t* value) {
  for (const std::string& line : split_lines(text)) {
    if (line.compare(0, name.size() + 1, name + " ") != 0) continue;
    *value = std::strtoll(line.c_str() + name.size(), nullptr, 10);
    return true;
  }
  return false;
}

}  // namespace

std::vector<CgroupDirectory> cgroup_directories(const std::string& controller, const std::string& root) {
  const std::string groups = read_trimmed(root + "/proc/self/cgroup");
  const std::string mounts = read_trimmed(root + "/proc/self/mountinfo");
  std::vector<CgroupDirectory> directories;
  for (const std::string& line : split_lines(groups)) {  // id:controllers:path
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string group = line.substr(second + 1);
    const bool v2 = controllers.empty();
    if (!v2 && !has_item(controllers, controller)) continue;
    for (const std::string& mount : split_lines(mounts)) {
      // id parent device root mount-point options [tags] - type source super-options
      const std::vector<std::string> words = split_words(mount);
      const auto dash = std::find(words.begin(), words.end(), "-");
      if (words.size() < 5 || words.end() - dash < 4) continue;
      if (*(dash + 1) != (v2 ? "cgroup2" : "cgroup")) continue;
      if (!v2 && !has_item(*(dash + 3), controller)) continue;
      add_directories(root + words[4], words[3], group, v2, &directories);
      break;
    }
  }
  return directories;
}

std::int64_t cgroup_memory_remaining(const std::string& root) {
  std::int64_t least = -1;
  for (const CgroupDirectory& directory : cgroup_directories("memory", root)) {
    // "max", and the page-aligned LLONG_MAX of v1, mean that there is no limit.
    const std::int64_t limit =
        read_integer(directory.path + (directory.v2 ? "/memory.max" : "/memory.limit_in_bytes"), -1);
    if (limit < 0 || limit > (std::int64_t{1} << 60)) continue;
    const std::int64_t used =
        read_integer(directory.path + (directory.v2 ? "/memory.current" : "/memory.usage_in_bytes"), 0);
    const std::string statistics = read_trimmed(directory.path + "/memory.stat");
    std::int64_t inactive = 0;
    std::int64_t active = 0;
    stat_value(statistics, directory.v2 ? "inactive_file" : "total_inactive_file", &inactive);
    stat_value(statistics, directory.v2 ? "active_file" : "total_active_file", &active);
    const std::int64_t remaining = std::max<std::int64_t>(0, limit - used + inactive + active / 2);
    if (least < 0 || remaining < least) least = std::min(remaining, limit);
  }
  return least;
}

double cgroup_cpu_quota(const std::string& root) {
  double least = -1;
  for (const CgroupDirectory& directory : cgroup_directories("cpu", root)) {
    double quota = -1;
    double period = 0;
    if (directory.v2) {
      const std::vector<std::string> words = split_words(read_trimmed(directory.path + "/cpu.max"));
      if (words.size() == 2 && words[0] != "max") {
        quota = std::strtod(words[0].c_str(), nullptr);
        period = std::strtod(words[1].c_str(), nullptr);
      }
    } else {
      quota = static_cast<double>(read_integer(directory.path + "/cpu.cfs_quota_us", -1));
      period = static_cast<double>(read_integer(directory.path + "/cpu.cfs_period_us", 0));
    }
    if (quota <= 0 || period <= 0) continue;
    const double cpus = quota / period;
    if (least < 0 || cpus < least) least = cpus;
  }
  return least;
}

ThrottleCounters cgroup_throttling(const std::string& root) {
  ThrottleCounters sum;
  // Each level counts the periods in which it was itself the one to throttle: add them up.
  for (const CgroupDirectory& directory : cgroup_directories("cpu", root)) {
    std::string text;
    std::int64_t value = 0;
    if (!read_text(directory.path + "/cpu.stat", &text) || !stat_value(text, "nr_periods", &value)) continue;
    sum.known = true;
    sum.periods = std::max(sum.periods, value);
    if (stat_value(text, "nr_throttled", &value)) sum.throttled += value;
    if (stat_value(text, "throttled_usec", &value)) sum.throttled_us += value;
    if (stat_value(text, "throttled_time", &value)) sum.throttled_us += value / 1000;
  }
  return sum;
}

}  // namespace os
}  // namespace phicoll
