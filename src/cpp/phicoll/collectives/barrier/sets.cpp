#include "phicoll/collectives/barrier/sets.hpp"

namespace phicoll {

const std::vector<BarrierSet>& all_barrier_sets() {
  static const std::vector<BarrierSet> sets = {
      {"paper-001", "rodchenko-2015", {"sense-reversing", "dissemination"}},
  };
  return sets;
}

const BarrierSet* find_barrier_set(const std::string& name) {
  for (const BarrierSet& set : all_barrier_sets())
    if (set.name == name || set.key == name) return &set;
  return nullptr;
}

}  // namespace phicoll
