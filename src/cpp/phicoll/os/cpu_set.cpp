#include "phicoll/os/cpu_set.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <set>

#include "phicoll/errors.hpp"
#include "phicoll/os/cgroup.hpp"
#include "phicoll/os/text_file.hpp"

namespace phicoll {
namespace os {

namespace {

// A cpu_set_t of any size: the fixed one ends at 1,024 CPUs.
class Mask {
 public:
  explicit Mask(int cpus) : cpus_(cpus), set_(CPU_ALLOC(static_cast<std::size_t>(cpus))) {
    if (set_ == nullptr) throw ResourceError("no memory for a CPU set of " + std::to_string(cpus));
    CPU_ZERO_S(bytes(), set_);
  }
  ~Mask() { CPU_FREE(set_); }
  Mask(const Mask&) = delete;
  Mask& operator=(const Mask&) = delete;

  int cpus() const { return cpus_; }
  std::size_t bytes() const { return CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus_)); }
  cpu_set_t* get() { return set_; }
  void add(int cpu) { CPU_SET_S(static_cast<std::size_t>(cpu), bytes(), set_); }
  bool has(int cpu) const { return CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes(), set_) != 0; }

 private:
  int cpus_;
  cpu_set_t* set_;
};

}  // namespace

std::vector<int> allowed_cpus() {
  std::vector<int> allowed;
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 2) {
    Mask mask(cpus);
    if (sched_getaffinity(0, mask.bytes(), mask.get()) != 0) {
      if (errno == EINVAL) continue;  // the kernel's mask is larger
      break;
    }
    for (int cpu = 0; cpu < mask.cpus(); ++cpu)
      if (mask.has(cpu)) allowed.push_back(cpu);
    return allowed;
  }
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  for (int cpu = 0; cpu < (online < 1 ? 1 : static_cast<int>(online)); ++cpu) allowed.push_back(cpu);
  return allowed;
}

int host_cpu_count() {
  // Configured, not online: some C libraries count the calling thread's affinity set as the online ones.
  return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_CONF)));
}

double cpu_quota() {
  return cgroup_cpu_quota();
}

int cpus_at_once(int cpus) {
  static const double quota = cpu_quota();  // read from files: 0.2 ms
  const int paid = quota < 0 || quota >= cpus ? cpus : static_cast<int>(std::ceil(quota));
  return std::max(1, paid);
}

int allowed_cpu_count() {
  return cpus_at_once(static_cast<int>(allowed_cpus().size()));
}

void set_thread_cpus(const std::vector<int>& cpus) {
  const auto largest = std::max_element(cpus.begin(), cpus.end());
  if (cpus.empty() || *std::min_element(cpus.begin(), cpus.end()) < 0 || *largest >= 1 << 20)
    throw ResourceError("cannot run on the CPUs " + format_cpu_list(cpus) + ": no such set");
  Mask mask(std::max(1024, *largest + 1));
  for (const int cpu : cpus) mask.add(cpu);
  if (sched_setaffinity(0, mask.bytes(), mask.get()) != 0)
    throw ResourceError("cannot run on the CPUs " + format_cpu_list(cpus) + ": " + std::strerror(errno) +
                        "; allowed are " + format_cpu_list(allowed_cpus()));
}

void pin_this_thread(int cpu) {
  set_thread_cpus(std::vector<int>(1, cpu));
}

std::vector<int> allowed_cpus_but(const std::vector<int>& cpus) {
  std::vector<int> others;
  for (const int cpu : allowed_cpus())
    if (std::find(cpus.begin(), cpus.end(), cpu) == cpus.end()) others.push_back(cpu);
  return others;
}

bool move_to_cpus(const std::vector<int>& cpus) {
  const std::vector<int> all = allowed_cpus();
  std::vector<int> there;
  for (const int cpu : all)
    if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end()) there.push_back(cpu);
  if (there.empty()) return false;
  try {
    set_thread_cpus(there);
    set_thread_cpus(all);
  } catch (const ResourceError&) {
    return false;  // the system has changed the set meanwhile
  }
  return true;
}

int current_cpu() {
  return sched_getcpu();
}

std::vector<int> parse_cpu_list(const std::string& text, const std::vector<int>& allowed) {
  std::vector<int> cpus;
  if (!parse_list(text, &cpus) || cpus.empty())
    throw ArgumentError("placement", "'" + text + "'", "a list of CPUs such as 0,2,4-7");
  std::set<int> seen;
  for (const int cpu : cpus) {
    if (!seen.insert(cpu).second)
      throw ArgumentError("placement", "'" + text + "', which repeats CPU " + std::to_string(cpu),
                          "each CPU once");
    if (std::find(allowed.begin(), allowed.end(), cpu) == allowed.end())
      throw ArgumentError("placement", "'" + text + "' with CPU " + std::to_string(cpu),
                          "the CPUs " + format_cpu_list(allowed));
  }
  return cpus;
}

std::vector<int> parse_cpu_list(const std::string& text) {
  return parse_cpu_list(text, allowed_cpus());
}

std::string format_cpu_list(const std::vector<int>& cpus) {
  std::string text;
  for (std::size_t i = 0; i < cpus.size();) {
    std::size_t last = i;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(cpus[i]);
    if (last > i) text += '-' + std::to_string(cpus[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace os
}  // namespace phicoll
