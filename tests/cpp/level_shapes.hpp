#pragma once

// Groups on machines of several levels that this host may not have, for tests of algorithms that go through
// them.

#include <utility>
#include <vector>

#include "phicoll/memory/shape.hpp"

namespace phicoll {
namespace level_shapes {

/// A machine of packages x nodes x caches x cores x contexts, each number that of the level above it.
inline std::vector<CpuLocation> machine(int packages, int nodes, int caches, int cores, int contexts) {
  std::vector<CpuLocation> places;
  for (int cpu = 0; cpu < packages * nodes * caches * cores * contexts; ++cpu) {
    CpuLocation place;
    place.cpu = cpu;
    place.core = cpu / contexts;
    place.l3 = place.core / cores;
    place.numa = place.l3 / caches;
    place.package = place.numa / nodes;
    places.push_back(place);
  }
  return places;
}
/// Rank r on the CPU contexts[r] of such a machine.
inline Shape on(const std::vector<CpuLocation>& machine, const std::vector<int>& cpus) {
  std::vector<CpuLocation> places;
  for (const int cpu : cpus) places.push_back(machine[static_cast<std::size_t>(cpu)]);
  return Shape(std::move(places));
}

struct Named {
  const char* name;
  Shape shape;
};

/// Of at most 17 ranks each.
inline std::vector<Named> all() {
  const std::vector<CpuLocation> large = machine(2, 2, 2, 2, 2);
  std::vector<Named> shapes;
  shapes.push_back({"a rank", on(large, {3})});
  shapes.push_back({"two of a core", on(large, {0, 1})});
  shapes.push_back({"two packages of one", on(large, {0, 16})});
  shapes.push_back({"three, one of them far", on(large, {0, 2, 16})});
  shapes.push_back({"every level of two", on(large, {0, 1, 2, 3, 4, 8, 16, 17, 20, 24})});
  shapes.push_back({"five levels, CPUs shared", on(large, {0, 0, 1, 2, 4, 4, 8, 8, 16, 24, 24, 28})});
  shapes.push_back({"unequal", on(large, {0, 2, 4, 6, 8, 10, 12, 14, 16, 24, 25, 26, 27})});
  shapes.push_back({"no order of ranks", on(large, {17, 0, 24, 1, 16, 9, 2, 30, 8, 3})});
  shapes.push_back({"in turn over the packages", on(large, {0, 16, 4, 20, 8, 24, 12, 28, 2, 18})});
  shapes.push_back({"two packages", place_ranks(9, machine(2, 1, 1, 8, 1), Placement::balanced)});
  shapes.push_back({"four caches, even", place_ranks(16, machine(1, 1, 4, 4, 1), Placement::compact)});
  shapes.push_back({"four caches, odd", place_ranks(17, machine(1, 1, 4, 5, 1), Placement::compact)});
  shapes.push_back({"two CPUs", place_ranks(7, machine(1, 1, 1, 2, 1), Placement::balanced)});
  shapes.push_back({"nothing known", Shape::unknown(6)});
  return shapes;
}

}  // namespace level_shapes
}  // namespace phicoll
