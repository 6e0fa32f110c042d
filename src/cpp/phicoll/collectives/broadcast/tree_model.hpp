#pragma once

// The model by which ramos-hoefler-2013 forms its tree for small broadcasts, over d levels, where a rank of
// level i - 1 has k_i children (equations 4.2 and 4.4 to 4.7, and B.1):
//
//     minimum  (d+1) R_I + 2 d R_L + sum of (c k_i + b) + sum of (R_I + k_i R_R)
//     maximum  R_I + sum of 2 (R_R + c k_i + b) + sum of (c k_i + b) + sum of (R_I + 2 k_i R_R)

#include <cstdint>
#include <vector>

#include "phicoll/collectives/structure/level_optimum.hpp"
#include "phicoll/collectives/structure/model_bound.hpp"
#include "phicoll/memory/line_costs.hpp"

// Readings: the maximum of equation 4.6 nests a sum over the same index, here it is the single level. The
// constraint is printed as k_i <= k_j for i < j; Table B.1 and the text want the counts to fall, and so it is
// here. The table's rows come out with b = R_L + R_R - c, as in equation 3.2, not with the fitted b of Table
// 3.2.
namespace phicoll {

/// b of the contention model c n + b, so that one reader pays R_L + R_R (equation 3.2).
inline std::int64_t contention_base(const LineCosts& costs) {
  return costs.local + costs.remote - costs.contention;
}

/// In the unit of the costs; `base` is b.
inline LevelCost broadcast_level_cost(const LineCosts& costs, std::int64_t base,
                                      ModelBound bound = ModelBound::minimum) {
  LevelCost cost;
  cost.tree = costs.memory;
  if (bound == ModelBound::minimum) {
    cost.level = 2 * costs.memory + 2 * costs.local + base;
    cost.child = costs.contention + costs.remote;
  } else {
    cost.level = costs.memory + 2 * costs.remote + 3 * base;
    cost.child = 3 * costs.contention + 2 * costs.remote;
  }
  return cost;
}

/// The counts k_1 >= k_2 >= ... with the least minimum for `ranks` ranks, of equal ones the lexicographically
/// smallest. Empty for one rank.
inline std::vector<int> best_broadcast_levels(int ranks, const LineCosts& costs, int levels) {
  return LevelOptimum(broadcast_level_cost(costs, contention_base(costs)), LevelOrder::falling, levels)
      .first(ranks);
}

}  // namespace phicoll
