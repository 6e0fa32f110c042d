#include "phicoll/collectives/barrier/acknowledged_model.hpp"

#include "phicoll/collectives/algorithm.hpp"

namespace phicoll {

int acknowledged_rounds(int ways, int ranks, AcknowledgedRounds rule) {
  if (rule == AcknowledgedRounds::corrected || ways == 1) return ceil_log(ways + 1, ranks);
  return ceil_log(ways, ranks);
}

AcknowledgedOptimum best_acknowledged(int ranks, AcknowledgedRounds rule, LineCosts costs) {
  AcknowledgedOptimum best{1, 0, 0};
  if (ranks < 2) return best;
  const int first = rule == AcknowledgedRounds::printed && ranks > 2 ? 2 : 1;
  for (int ways = first; ways < ranks; ++ways) {
    const int rounds = acknowledged_rounds(ways, ranks, rule);
    const std::int64_t cost = rounds * (costs.local + ways * costs.remote + costs.remote);
    if (ways == first || cost < best.cost) best = AcknowledgedOptimum{ways, rounds, cost};
  }
  return best;
}

}  // namespace phicoll
