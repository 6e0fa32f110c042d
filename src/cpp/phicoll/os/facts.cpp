#include "phicoll/os/facts.hpp"

#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "phicoll/os/text_file.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace phicoll {
namespace os {

namespace {

bool exists(const char* path) {
  struct stat status;
  return stat(path, &status) == 0;
}

// The value of the first `name : value` line.
std::string field(const std::string& text, const std::string& name) {
  for (const std::string& line : split_lines(text)) {
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && trimmed(line.substr(0, colon)) == name)
      return trimmed(line.substr(colon + 1));
  }
  return std::string();
}

// The word in brackets: "always [madvise] never".
std::string selected(const std::string& text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return "unknown";
  return text.substr(open + 1, close - open - 1);
}

double share(std::uint64_t before, std::uint64_t after, const CpuTimes& first, const CpuTimes& last) {
  if (!first.known || !last.known || last.total <= first.total || after < before) return -1;
  return static_cast<double>(after - before) / static_cast<double>(last.total - first.total);
}

}  // namespace

// Makers pad names with blanks. Files in which lines are words, such as tables of tuning, keep single ones.
std::string cpu_model(const std::string& root) {
  const std::string text = read_trimmed(root + "/proc/cpuinfo");
  for (const char* name : {"model name", "Model", "Hardware", "cpu model", "cpu"}) {
    std::string model;
    for (const std::string& word : split_words(field(text, name))) model += (model.empty() ? "" : " ") + word;
    if (!model.empty()) return model;
  }
  const std::string implementer = field(text, "CPU implementer");
  if (!implementer.empty()) return "implementer " + implementer + " part " + field(text, "CPU part");
  return "unknown";
}

std::string cpu_details(const std::string& root) {
  const std::string text = read_trimmed(root + "/proc/cpuinfo");
  const std::string family = field(text, "cpu family");
  const std::string model = field(text, "model");
  return family.empty() || model.empty() ? std::string() : "family " + family + " model " + model;
}

std::string kernel_release() {
  utsname name;
  return uname(&name) == 0 ? std::string(name.release) : std::string("unknown");
}

std::string virtualisation() {
#if defined(__x86_64__)
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0) {
    if ((ecx >> 31 & 1u) == 0) return "none";
    __cpuid(0x40000000, eax, ebx, ecx, edx);  // set aside for hypervisors to say who they are
    char name[13] = {};
    std::memcpy(name, &ebx, 4);
    std::memcpy(name + 4, &ecx, 4);
    std::memcpy(name + 8, &edx, 4);
    const char* const known[][2] = {{"KVMKVMKVM", "kvm"},        {"VMwareVMware", "vmware"},
                                    {"Microsoft Hv", "hyper-v"}, {"XenVMMXenVMM", "xen"},
                                    {"TCGTCGTCGTCG", "qemu"},    {"VBoxVBoxVBox", "virtualbox"},
                                    {"bhyve bhyve ", "bhyve"},   {"prl hyperv  ", "parallels"},
                                    {"QNXQVMBSQG", "qnx"},       {"ACRNACRNACRN", "acrn"}};
    for (const auto& pair : known)
      if (std::strncmp(name, pair[0], 12) == 0) return pair[1];
    return "unknown hypervisor";
  }
#endif
  const std::string text = read_trimmed("/proc/cpuinfo");
  const std::string flags = " " + field(text, "flags") + " ";
  const std::string type = read_trimmed("/sys/hypervisor/type");
  if (!type.empty()) return type;
  std::string vendor = read_trimmed("/sys/class/dmi/id/sys_vendor") +
                       read_trimmed("/proc/device-tree/model") +
                       read_trimmed("/sys/class/dmi/id/product_name");
  const char* const marks[][2] = {{"QEMU", "qemu"},
                                  {"KVM", "kvm"},
                                  {"VMware", "vmware"},
                                  {"dummy-virt", "qemu"},
                                  {"Amazon EC2", "kvm"},
                                  {"Google Compute", "kvm"},
                                  {"Virtual Machine", "hyper-v"}};
  for (const auto& mark : marks)
    if (vendor.find(mark[0]) != std::string::npos) return mark[1];
  return flags.find(" hypervisor ") != std::string::npos ? "unknown hypervisor" : "none";
}

std::string container() {
  if (exists("/run/.containerenv")) return "podman";
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "kubernetes";
  if (exists("/.dockerenv")) return "docker";
  const std::string groups = read_trimmed("/proc/self/cgroup");
  const char* const marks[][2] = {{"kubepods", "kubernetes"},
                                  {"/docker", "docker"},
                                  {"libpod", "podman"},
                                  {"/lxc", "lxc"},
                                  {"containerd", "container"}};
  for (const auto& mark : marks)
    if (groups.find(mark[0]) != std::string::npos) return mark[1];
  const char* variable = std::getenv("container");
  return variable != nullptr && variable[0] != '\0' ? std::string(variable) : std::string("none");
}

std::vector<std::pair<int, std::string>> frequency_governors(const std::string& root) {
  const std::string base = root + "/sys/devices/system/cpu";
  std::vector<int> cpus;
  parse_list(read_trimmed(base + "/online"), &cpus);
  std::vector<std::pair<int, std::string>> governors;
  for (const int cpu : cpus) {
    const std::string governor =
        read_trimmed(base + "/cpu" + std::to_string(cpu) + "/cpufreq/scaling_governor");
    governors.emplace_back(cpu, governor.empty() ? "none" : governor);
  }
  return governors;
}

std::string frequency_governor(const std::string& root) {
  std::string common = "none";
  bool first = true;
  for (const auto& governor : frequency_governors(root)) {
    if (!first && governor.second != common) return "mixed";
    common = governor.second;
    first = false;
  }
  return common;
}

std::string frequency_boost(const std::string& root) {
  const std::string base = root + "/sys/devices/system/cpu";
  const std::int64_t no_turbo = read_integer(base + "/intel_pstate/no_turbo", -1);
  if (no_turbo >= 0) return no_turbo == 0 ? "on" : "off";
  const std::int64_t boost = read_integer(base + "/cpufreq/boost", -1);
  if (boost >= 0) return boost != 0 ? "on" : "off";
  return "unknown";
}

std::string huge_pages(const std::string& root) {
  return selected(read_trimmed(root + "/sys/kernel/mm/transparent_hugepage/enabled"));
}

std::string huge_pages_shared(const std::string& root) {
  return selected(read_trimmed(root + "/sys/kernel/mm/transparent_hugepage/shmem_enabled"));
}

std::array<double, 3> load_averages(const std::string& root) {
  std::array<double, 3> load = {{-1, -1, -1}};
  const std::vector<std::string> words = split_words(read_trimmed(root + "/proc/loadavg"));
  for (std::size_t i = 0; i < load.size() && i < words.size(); ++i)
    load[i] = std::strtod(words[i].c_str(), nullptr);
  return load;
}

CpuTimes cpu_times(const std::string& root) {
  CpuTimes times;
  const std::string text = read_trimmed(root + "/proc/stat");
  const std::vector<std::string> lines = split_lines(text);
  if (lines.empty()) return times;
  // cpu user nice system idle iowait irq softirq steal guest guest_nice; the guests' time is in user and nice
  // already.
  const std::vector<std::string> words = split_words(lines[0]);
  if (words.size() < 9 || words[0] != "cpu") return times;
  times.known = true;
  for (std::size_t i = 1; i <= 8; ++i) {
    const std::uint64_t ticks = std::strtoull(words[i].c_str(), nullptr, 10);
    times.total += ticks;
    if (i == 4 || i == 5) times.idle += ticks;
    if (i == 8) times.steal = ticks;
  }
  return times;
}

double steal_share(const CpuTimes& before, const CpuTimes& after) {
  return share(before.steal, after.steal, before, after);
}

double busy_share(const CpuTimes& before, const CpuTimes& after) {
  const double idle = share(before.idle, after.idle, before, after);
  const double steal = steal_share(before, after);
  return idle < 0 || steal < 0 ? -1 : std::max(0.0, 1 - idle - steal);
}

std::uint64_t memory_total(const std::string& root) {
  const std::string text = read_trimmed(root + "/proc/meminfo");
  return std::strtoull(field(text, "MemTotal").c_str(), nullptr, 10) * 1024;
}

int ptrace_scope(const std::string& root) {
  return static_cast<int>(read_integer(root + "/proc/sys/kernel/yama/ptrace_scope", -1));
}

int perf_event_paranoid(const std::string& root) {
  return static_cast<int>(read_integer(root + "/proc/sys/kernel/perf_event_paranoid", -100));
}

int numa_balancing(const std::string& root) {
  return static_cast<int>(read_integer(root + "/proc/sys/kernel/numa_balancing", -1));
}

int smt_active(const std::string& root) {
  return static_cast<int>(read_integer(root + "/sys/devices/system/cpu/smt/active", -1));
}

}  // namespace os
}  // namespace phicoll
