#include "phicoll/kernels/places.hpp"

#include <algorithm>

#include "phicoll/errors.hpp"
#include "phicoll/os/cpu_set.hpp"

namespace phicoll {
namespace kernels {

namespace {

using os::CpuPlace;

bool same(int a, int b) {
  return a >= 0 && a == b;
}
bool different(int a, int b) {
  return a >= 0 && b >= 0 && a != b;
}

/// Whether `b` is at the place from `a`.
bool is_at(const std::string& where, const CpuPlace& a, const CpuPlace& b) {
  if (where == "same-core") return a.cpu != b.cpu && same(a.core, b.core);
  if (where == "same-l3") return different(a.core, b.core) && same(a.l3, b.l3);
  if (where == "other-l3") return different(a.l3, b.l3) && same(a.package, b.package);
  return different(a.package, b.package);  // other-package
}

/// The first two CPUs at that place; none where there are no such two.
std::vector<CpuPlace> pair_at(const std::vector<CpuPlace>& cpus, const std::string& where) {
  for (const CpuPlace& a : cpus)
    for (const CpuPlace& b : cpus)
      if (is_at(where, a, b)) return {a, b};
  return {};
}

/// On a core of its own, nearest to the first first.
std::vector<int> with_helper(const std::vector<CpuPlace>& cpus, const std::vector<CpuPlace>& pair,
                             const std::string& where) {
  const CpuPlace& reader = pair[0];
  const auto free_core = [&](const CpuPlace& cpu) {
    return different(cpu.core, reader.core) && different(cpu.core, pair[1].core);
  };
  const auto nearness = [&](const CpuPlace& cpu) {
    return (same(cpu.l3, reader.l3) ? 2 : 0) + (same(cpu.package, reader.package) ? 1 : 0);
  };
  const CpuPlace* best = nullptr;
  for (const CpuPlace& cpu : cpus)
    if (free_core(cpu) && (best == nullptr || nearness(cpu) > nearness(*best))) best = &cpu;
  if (best == nullptr)
    throw ArgumentError("where", "'" + where + "' with three ranks",
                        "two ranks: there is no third core among the CPUs that may be used");
  return {reader.cpu, pair[1].cpu, best->cpu};
}

/// A CPU of each core of the package first, then the cores' other CPUs.
std::vector<int> cores_first(const std::vector<CpuPlace>& cpus, int package) {
  std::vector<int> firsts, others, cores;
  for (const CpuPlace& cpu : cpus) {
    if (cpu.package != package) continue;
    const bool known = std::find(cores.begin(), cores.end(), cpu.core) != cores.end();
    (known ? others : firsts).push_back(cpu.cpu);
    cores.push_back(cpu.core);
  }
  firsts.insert(firsts.end(), others.begin(), others.end());
  return firsts;
}

std::vector<int> halves(const std::vector<CpuPlace>& cpus, int ranks) {
  const std::vector<CpuPlace> two = pair_at(cpus, "other-package");
  const std::vector<int> here = cores_first(cpus, two[0].package);
  const std::vector<int> there = cores_first(cpus, two[1].package);
  const auto half = static_cast<std::size_t>(ranks / 2);
  const std::size_t most = std::min(here.size(), there.size());
  if (ranks < 2 || ranks % 2 != 0 || half > most)
    throw ArgumentError("ranks", std::to_string(ranks),
                        "an even number from 2 to " + std::to_string(2 * most) + " across packages");
  std::vector<int> chosen(here.begin(), here.begin() + static_cast<std::ptrdiff_t>(half));
  chosen.insert(chosen.end(), there.begin(), there.begin() + static_cast<std::ptrdiff_t>(half));
  return chosen;
}

}  // namespace

const std::vector<std::string>& host_places() {
  static const std::vector<std::string> names = {"same-cpu", "same-core",     "same-l3",
                                                 "other-l3", "other-package", "across-packages"};
  return names;
}

std::vector<int> cpus_at(const std::vector<os::CpuPlace>& cpus, const std::string& where, int ranks) {
  const auto there = [&](const std::string& place) {
    if (place == "same-cpu") return !cpus.empty();
    return !pair_at(cpus, place == "across-packages" ? "other-package" : place).empty();
  };
  const std::vector<std::string>& names = host_places();
  if (std::find(names.begin(), names.end(), where) == names.end() || !there(where)) {
    std::string allowed;
    for (const std::string& name : names)
      if (there(name)) allowed += (allowed.empty() ? "" : ", ") + name;
    throw ArgumentError("where", "'" + where + "' on this machine's CPUs", allowed);
  }
  if (where == "same-cpu") return std::vector<int>(static_cast<std::size_t>(ranks), cpus.front().cpu);
  if (where == "across-packages") return halves(cpus, ranks);
  if (ranks < 1 || ranks > 3)
    throw ArgumentError("ranks", std::to_string(ranks), "1 to 3 at " + where + " from each other");
  const std::vector<CpuPlace> pair = pair_at(cpus, where);
  if (ranks == 3) return with_helper(cpus, pair, where);
  std::vector<int> chosen = {pair[0].cpu, pair[1].cpu};
  chosen.resize(static_cast<std::size_t>(ranks));
  return chosen;
}

std::string placement_at(const std::string& where, int ranks) {
  const std::vector<std::string>& names = host_places();
  const bool is_list = !where.empty() && where[0] >= '0' && where[0] <= '9';
  if (where.empty() || is_list || where == "compact" || where == "scatter" || where == "balanced")
    return where;
  if (std::find(names.begin(), names.end(), where) == names.end()) {
    std::string places;
    for (const std::string& name : names) places += ", " + name;
    throw ArgumentError("where", "'" + where + "'",
                        "compact, scatter, balanced, CPUs such as 0,4-7" + places);
  }
  const std::vector<int> allowed = os::allowed_cpus();
  std::vector<os::CpuPlace> usable;
  for (const os::CpuPlace& cpu : os::read_topology())
    if (std::find(allowed.begin(), allowed.end(), cpu.cpu) != allowed.end()) usable.push_back(cpu);
  std::vector<int> chosen = cpus_at(usable, where, ranks);
  if (where == "same-cpu") chosen.resize(1);  // a placement begins again from its front
  std::string list;
  for (const int cpu : chosen) list += (list.empty() ? "" : ",") + std::to_string(cpu);
  return list;
}

}  // namespace kernels
}  // namespace phicoll
