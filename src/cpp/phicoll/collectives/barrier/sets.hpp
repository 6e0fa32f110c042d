#pragma once

// Named sets of barriers: what each paper tested, with its parameter values.

#include <string>
#include <vector>

namespace phicoll {

struct BarrierSet {
  std::string name;                  ///< by the paper's number, `paper-001`
  std::string key;                   ///< by author and year, `rodchenko-2015`
  std::vector<std::string> members;  ///< specs
};

const std::vector<BarrierSet>& all_barrier_sets();
/// By name or key, or null.
const BarrierSet* find_barrier_set(const std::string& name);

}  // namespace phicoll
