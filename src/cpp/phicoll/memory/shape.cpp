#include "phicoll/memory/shape.hpp"

#include <algorithm>
#include <map>

#include "phicoll/errors.hpp"
#include "phicoll/memory/host_numbers.hpp"

namespace phicoll {

namespace {

int id_at(const CpuLocation& place, Level level) {
  switch (level) {
    case Level::cpu:
      return place.cpu;
    case Level::core:
      return place.core;
    case Level::l3:
      return place.l3;
    case Level::numa:
      return place.numa;
    case Level::package:
      return place.package;
  }
  return -1;
}

const HostNumbers default_numbers;

}  // namespace

const HostNumbers& Shape::host() const {
  return host_ ? *host_ : default_numbers;
}

void Shape::set_host(const HostNumbers& host) {
  host_ = std::make_shared<HostNumbers>(host);
}

std::vector<int> Shape::groups(Level level) const {
  const bool alone_if_unknown = level == Level::cpu || level == Level::core;
  std::vector<int> group(places_.size());
  std::map<int, int> number_of;
  int next = 0;
  for (std::size_t r = 0; r < places_.size(); ++r) {
    int id = id_at(places_[r], level);
    // A rank whose core is unknown but whose CPU is known shares at least that CPU.
    if (id < 0 && level == Level::core && places_[r].cpu >= 0) id = -2 - places_[r].cpu;
    if (id == -1 && alone_if_unknown) {
      group[r] = next++;
      continue;
    }
    const auto found = number_of.emplace(id, next);
    if (found.second) ++next;
    group[r] = found.first->second;
  }
  return group;
}

bool Shape::oversubscribed() const {
  std::vector<int> cpus;
  for (const CpuLocation& place : places_)
    if (place.cpu >= 0) cpus.push_back(place.cpu);
  std::sort(cpus.begin(), cpus.end());
  return std::adjacent_find(cpus.begin(), cpus.end()) != cpus.end();
}

Placement parse_placement(const std::string& text) {
  if (text == "compact") return Placement::compact;
  if (text == "scatter") return Placement::scatter;
  if (text == "balanced") return Placement::balanced;
  throw ArgumentError("placement", "'" + text + "'",
                      "compact, scatter, balanced, or a list of CPUs such as 0,2,4-7");
}

const char* to_string(Placement placement) {
  switch (placement) {
    case Placement::compact:
      return "compact";
    case Placement::scatter:
      return "scatter";
    case Placement::balanced:
      break;
  }
  return "balanced";
}

Shape place_ranks(int ranks, std::vector<CpuLocation> contexts, Placement placement) {
  if (contexts.empty()) throw ArgumentError("contexts", "none", "a place for each context that may be used");
  // Sorts the contexts by package, node, cache and core: a core's contexts stand together, in the order of
  // their numbers.
  std::stable_sort(contexts.begin(), contexts.end(), [](const CpuLocation& a, const CpuLocation& b) {
    if (a.package != b.package) return a.package < b.package;
    if (a.numa != b.numa) return a.numa < b.numa;
    if (a.l3 != b.l3) return a.l3 < b.l3;
    if (a.core != b.core) return a.core < b.core;
    return a.cpu < b.cpu;
  });
  std::vector<std::vector<CpuLocation>> cores;
  for (const CpuLocation& c : contexts) {
    if (cores.empty() || c.core < 0 || cores.back().back().core != c.core ||
        cores.back().back().package != c.package)
      cores.emplace_back();
    cores.back().push_back(c);
  }
  const int total = static_cast<int>(contexts.size());
  std::vector<CpuLocation> places;
  places.reserve(static_cast<std::size_t>(ranks));
  // Places the ranks in passes of at most `total`: after each pass, contexts are shared and the layout starts
  // again.
  for (int first = 0; first < ranks; first += total) {
    const int here = std::min(total, ranks - first);
    if (placement == Placement::compact) {
      places.insert(places.end(), contexts.begin(), contexts.begin() + here);
      continue;
    }
    // The number of ranks on each core: each further rank goes to the least loaded core that has a context
    // left.
    std::vector<std::size_t> load(cores.size(), 0);
    std::vector<std::size_t> order;
    for (int given = 0; given < here;) {
      for (std::size_t c = 0; c < cores.size() && given < here; ++c) {
        if (load[c] == cores[c].size()) continue;
        order.push_back(c);
        ++load[c];
        ++given;
      }
    }
    if (placement == Placement::scatter) {
      std::vector<std::size_t> used(cores.size(), 0);
      for (std::size_t c : order) places.push_back(cores[c][used[c]++]);
    } else {
      for (std::size_t c = 0; c < cores.size(); ++c)
        for (std::size_t i = 0; i < load[c]; ++i) places.push_back(cores[c][i]);
    }
  }
  return Shape(std::move(places));
}

std::vector<CpuLocation> uniform_machine(int cores, int contexts_per_core) {
  std::vector<CpuLocation> contexts;
  for (int core = 0; core < cores; ++core)
    for (int i = 0; i < contexts_per_core; ++i) {
      CpuLocation place;
      place.cpu = core * contexts_per_core + i;
      place.core = core;
      place.l3 = core;  // private caches only: nothing beyond the core shares a cache
      place.numa = 0;
      place.package = 0;
      contexts.push_back(place);
    }
  return contexts;
}

}  // namespace phicoll
