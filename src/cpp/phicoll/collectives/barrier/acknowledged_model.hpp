#pragma once

// The model by which paper 004 chooses m for its barrier: T = r (R_L + m R_R + R_R), r rounds of m partners
// (ramos-hoefler-2013, equations 4.11 and B.2). Integers only: the card's part of the library has no floating
// point, and every rank must find the same m.

#include <cstdint>

namespace phicoll {

/// How the number of rounds follows from m: log_{m+1} n is what the partners' formula needs; log_m n is what
/// the paper prints, and what its Table B.2 was computed with.
enum class AcknowledgedRounds : unsigned char { corrected, printed };

/// Cost of a line in tenths of a nanosecond: R_L from the own core's cache, R_R from another's. The defaults
/// are the paper's for the Xeon Phi 5110P (figure 1.3, simplified model: 8.6 and 235.8 ns).
struct LineCosts {
  std::int64_t local = 86;
  std::int64_t remote = 2358;
};

struct AcknowledgedOptimum {
  int ways;           ///< m
  int rounds;         ///< r
  std::int64_t cost;  ///< T, in the unit of the line costs
};

/// Rounds for m >= 1 partners a round and n >= 1 ranks. log_1 does not exist: for m = 1 the printed rule is
/// read as one round for two ranks (the paper's first row) and as log_2 beyond.
int acknowledged_rounds(int ways, int ranks, AcknowledgedRounds rule);

/// The m in 1..n-1 with the least cost, the smallest of equals. With the printed rule m = 1 is a candidate
/// for two ranks only. For one rank: m = 1 and no round.
AcknowledgedOptimum best_acknowledged(int ranks, AcknowledgedRounds rule, LineCosts costs = LineCosts());

}  // namespace phicoll
