#pragma once

// The model by which ramos-hoefler-2013 chooses m for its barrier, r rounds of m partners
// (equations 4.11, 4.12 and B.2):
//
//   minimum  r (R_L + m R_R + R_R)
//   maximum  r (R_R + 4 m R_R + (2 m + 1) R_R)
//
// Integers only: the card's part of the library has no floating point, and every rank must find the same m.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "phicoll/collectives/structure/model_bound.hpp"
#include "phicoll/memory/line_costs.hpp"

namespace phicoll {

/// How the number of rounds follows from m: log_{m+1} n is what the partners' formula needs; log_m n is what
/// the paper prints, and what its Table B.2 was computed with.
enum class AcknowledgedRounds : unsigned char { corrected, printed };

struct AcknowledgedOptimum {
  int ways;           ///< m
  int rounds;         ///< r
  std::int64_t cost;  ///< T, in the unit of the line costs
};

/// Rounds for m >= 1 partners a round and n >= 1 ranks. log_1 does not exist: for m = 1 the printed rule is
/// read as one round for two ranks (the paper's first row) and as log_2 beyond.
int acknowledged_rounds(int ways, int ranks, AcknowledgedRounds rule);

std::int64_t acknowledged_cost(int ways, int rounds, const LineCosts& costs,
                               ModelBound bound = ModelBound::minimum);

/// The m in 1..n-1 with the least cost; of equal ones the smallest. With the printed rule m = 1 is a
/// candidate for two ranks only. For one rank: m = 1 and no round.
AcknowledgedOptimum best_acknowledged(int ranks, AcknowledgedRounds rule,
                                      const LineCosts& costs = LineCosts(),
                                      ModelBound bound = ModelBound::minimum);
/// All values of m with that cost, in rising order.
std::vector<AcknowledgedOptimum> all_best_acknowledged(int ranks, AcknowledgedRounds rule,
                                                       const LineCosts& costs, ModelBound bound);

}  // namespace phicoll
