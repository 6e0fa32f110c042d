#pragma once

// The model by which paper 004 shapes its tree for small broadcasts (ramos-hoefler-2013, equations 4.4 to 4.7
// and B.1):
//
//   T = (d+1) R_I + 2 d R_L + sum of (c k_i + b) + sum of (R_I + k_i R_R)
//
// over d levels, where a rank of level i - 1 has k_i children. Integers only: the card's part of the library
// has no floating point, and every rank must find the same tree. The constraint is printed as k_i <= k_j for
// i < j; the paper's Table B.1 and its text want the counts to fall, and so it is here. Its rows come out
// with b = R_L + R_R - c, as equation 4.5 has it, not with the fitted b of its Table 3.2.

#include <vector>

#include "phicoll/collectives/level_tree.hpp"

namespace phicoll {

/// In tenths of a nanosecond; the defaults are the paper's for the Xeon Phi 5110P (figure 1.3, Table 3.2).
struct TreeCosts {
  long local = 86;        ///< R_L: a line in the own core's cache
  long remote = 2358;     ///< R_R: in another's
  long memory = 2777;     ///< R_I: in none
  long contention = 562;  ///< c: for each rank more that reads a line at the same time
};

/// The counts k_1 >= k_2 >= ... with the least T for so many ranks, of equals the lexicographically smallest.
/// Empty for one rank.
inline std::vector<int> best_broadcast_levels(int ranks, TreeCosts costs = TreeCosts()) {
  const long b = costs.local + costs.remote - costs.contention;
  return best_levels(ranks, 2 * costs.memory + 2 * costs.local + b, costs.contention + costs.remote);
}

}  // namespace phicoll
