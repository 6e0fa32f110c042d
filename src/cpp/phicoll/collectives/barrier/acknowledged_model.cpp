#include "phicoll/collectives/barrier/acknowledged_model.hpp"

#include "phicoll/collectives/contract/algorithm.hpp"

namespace phicoll {

int acknowledged_rounds(int ways, int ranks, AcknowledgedRounds rule) {
  if (rule == AcknowledgedRounds::corrected || ways == 1) return ceil_log(ways + 1, ranks);
  return ceil_log(ways, ranks);
}

std::int64_t acknowledged_cost(int ways, int rounds, const LineCosts& costs, ModelBound bound) {
  if (bound == ModelBound::minimum) return rounds * (costs.local + (ways + 1) * costs.remote);
  return rounds * (2 + 6 * static_cast<std::int64_t>(ways)) * costs.remote;
}

std::vector<AcknowledgedOptimum> all_best_acknowledged(int ranks, AcknowledgedRounds rule,
                                                       const LineCosts& costs, ModelBound bound) {
  if (ranks < 2) return {AcknowledgedOptimum{1, 0, 0}};
  std::vector<AcknowledgedOptimum> best;
  for (int ways = rule == AcknowledgedRounds::printed && ranks > 2 ? 2 : 1; ways < ranks; ++ways) {
    const int rounds = acknowledged_rounds(ways, ranks, rule);
    const std::int64_t cost = acknowledged_cost(ways, rounds, costs, bound);
    if (!best.empty() && cost < best.front().cost) best.clear();
    if (best.empty() || cost == best.front().cost) best.push_back(AcknowledgedOptimum{ways, rounds, cost});
  }
  return best;
}

AcknowledgedOptimum best_acknowledged(int ranks, AcknowledgedRounds rule, const LineCosts& costs,
                                      ModelBound bound) {
  return all_best_acknowledged(ranks, rule, costs, bound).front();
}

}  // namespace phicoll
