#pragma once

// The model by which ramos-hoefler-2013 forms its tree for small reductions, over d levels, where a rank of
// level i - 1 has k_i children (equations 4.13, 4.14 and B.3):
//
//     minimum  sum of (R_I +   (c k_i + b) +   (1 + k_i) R_R + R_L + T_k) + R_R
//     maximum  sum of (R_I + 2 (c k_i + b) + 2 (1 + k_i) R_R + R_L + T_k) + R_R

#include <cstdint>
#include <vector>

#include "phicoll/collectives/broadcast/tree_model.hpp"
#include "phicoll/collectives/structure/level_optimum.hpp"
#include "phicoll/collectives/structure/model_bound.hpp"
#include "phicoll/memory/line_costs.hpp"

// Readings: b = R_L + R_R - c, as in equation 3.2, and T_k = o k. With these every row of Table B.3 costs the
// least; with the T_k = o k + q - p / k that the text means by "the multi-line model", nine rows do. The
// paper broke ties in no order that could be found.
namespace phicoll {

/// In the unit of the costs; `base` is b, `start` and `saved` are q and p of T_k = o k + q - p / k.
inline LevelCost reduction_level_cost(const LineCosts& costs, std::int64_t base,
                                      ModelBound bound = ModelBound::minimum, std::int64_t start = 0,
                                      std::int64_t saved = 0) {
  const std::int64_t times = bound == ModelBound::minimum ? 1 : 2;
  LevelCost cost;
  cost.tree = costs.remote;
  cost.level = costs.memory + times * (base + costs.remote) + costs.local + start;
  cost.child = times * (costs.contention + costs.remote) + costs.further_line;
  cost.shared = saved;
  return cost;
}

/// The counts k_1 >= k_2 >= ... with the least minimum for `ranks` ranks, of equal ones the lexicographically
/// smallest. Empty for one rank.
inline std::vector<int> best_reduction_levels(int ranks, const LineCosts& costs, int levels) {
  return LevelOptimum(reduction_level_cost(costs, contention_base(costs)), LevelOrder::falling, levels)
      .first(ranks);
}

}  // namespace phicoll
