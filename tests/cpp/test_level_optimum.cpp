// The trees and barriers that the models of ramos-hoefler-2013 design: the minimisers against plain
// enumeration, the paper's tables and examples, what lines cost on other machines, and that every rank of a
// group takes its design from the group's costs.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "phicoll/collectives/broadcast/tree_model.hpp"
#include "phicoll/collectives/reduce/tree_model.hpp"
#include "phicoll/collectives/registry/family.hpp"
#include "phicoll/collectives/structure/hierarchy.hpp"
#include "phicoll/collectives/structure/level_optimum.hpp"
#include "phicoll/collectives/structure/level_tree.hpp"

namespace phicoll {
namespace {

using Levels = std::vector<int>;

/// The set of best levels by looking at every one of at most `levels` levels.
std::vector<Levels> enumerated(const LevelCost& cost, LevelOrder order, int levels, int nodes) {
  std::vector<Levels> best;
  std::int64_t least = 0;
  Levels k;
  std::function<void()> visit = [&] {
    if (level_tree_capacity(k, nodes) >= nodes) {
      if (best.empty() || cost.of(k) < least) {
        least = cost.of(k);
        best.clear();
      }
      if (cost.of(k) == least) best.push_back(k);
      return;
    }
    if (static_cast<int>(k.size()) == levels) return;
    for (int one = 1; one < nodes; ++one) {
      if (!k.empty() && order == LevelOrder::falling && one > k.back()) break;
      if (!k.empty() && order == LevelOrder::rising && one < k.back()) continue;
      k.push_back(one);
      visit();
      k.pop_back();
    }
  };
  visit();
  std::sort(best.begin(), best.end());
  return best;
}

TEST(LevelOptimum, FindsWhatPlainEnumerationFinds) {
  LineCosts flat;  // where another core is as near as the own
  flat.remote = flat.local;
  flat.contention = 1;
  std::vector<LevelCost> costs;
  for (const LineCosts& one : {LineCosts(), flat})
    for (const ModelBound bound : {ModelBound::minimum, ModelBound::maximum}) {
      costs.push_back(broadcast_level_cost(one, contention_base(one), bound));
      costs.push_back(reduction_level_cost(one, contention_base(one), bound));
      costs.push_back(reduction_level_cost(one, contention_base(one), bound, 15210, 10960));
    }
  LevelCost many_ties;
  many_ties.level = 1;
  many_ties.child = 1;
  costs.push_back(many_ties);
  for (const LevelCost& cost : costs)
    for (const LevelOrder order : {LevelOrder::falling, LevelOrder::rising, LevelOrder::any})
      for (const int levels : {1, 2, 4})
        for (const int nodes : {2, 3, 5, 9, 14, 17, 23}) {
          LevelOptimum optimum(cost, order, levels);
          const std::vector<Levels> expected = enumerated(cost, order, levels, nodes);
          EXPECT_EQ(optimum.all(nodes, 1000), expected) << nodes << " nodes, " << levels << " levels";
          EXPECT_EQ(optimum.first(nodes), expected.front()) << nodes << " nodes, " << levels << " levels";
        }
}

TEST(LevelOptimum, HoldsEveryNumberOfNodesAndStopsAtTheTiesAskedFor) {
  LevelCost ties;
  ties.level = 1;
  for (const LevelOrder order : {LevelOrder::falling, LevelOrder::rising, LevelOrder::any}) {
    LevelOptimum optimum(ties, order, 6);
    EXPECT_TRUE(optimum.first(1).empty());
    EXPECT_EQ(optimum.all(1, 9).size(), 1u) << "the tree without levels";
    std::int64_t before = 0;
    for (int nodes = 2; nodes <= 1024; ++nodes) {
      const Levels best = optimum.first(nodes);
      EXPECT_LE(best.size(), 6u);
      EXPECT_GE(level_tree_capacity(best, nodes), nodes);
      EXPECT_GE(ties.of(best), before) << "more nodes are not cheaper";
      before = ties.of(best);
    }
    EXPECT_LE(optimum.all(1000, 3).size(), 3u);
  }
}

TEST(LevelOptimum, OrderOfTheCountsDecidesAmongTheSameCosts) {
  const LevelCost cost = broadcast_level_cost(LineCosts(), contention_base(LineCosts()));
  for (int nodes = 2; nodes <= 300; ++nodes) {
    const Levels falling = LevelOptimum(cost, LevelOrder::falling, 6).first(nodes);
    const Levels any = LevelOptimum(cost, LevelOrder::any, 6).first(nodes);
    const Levels rising = LevelOptimum(cost, LevelOrder::rising, 6).first(nodes);
    EXPECT_EQ(cost.of(falling), cost.of(any)) << nodes;
    EXPECT_GE(cost.of(rising), cost.of(any)) << nodes;
    EXPECT_TRUE(std::is_sorted(falling.rbegin(), falling.rend())) << nodes;
    EXPECT_TRUE(std::is_sorted(rising.begin(), rising.end())) << nodes;
  }
}

// ramos-hoefler-2013 section 4.4.
TEST(TreeModel, GivesThePapersExamples) {
  EXPECT_EQ(best_broadcast_levels(30, LineCosts(), 6), Levels({5, 5}));
  EXPECT_EQ(best_broadcast_levels(60, LineCosts(), 6), Levels({4, 4, 3}));
  EXPECT_EQ(best_reduction_levels(30, LineCosts(), 6), Levels({3, 3, 2}));
  EXPECT_EQ(best_reduction_levels(60, LineCosts(), 6), Levels({4, 4, 3}));
}

TEST(TreeModel, TakesAtMostFiveLevelsOnTheXeonPhi) {
  for (int ranks = 2; ranks <= 1024; ++ranks) {
    EXPECT_LE(best_broadcast_levels(ranks, LineCosts(), LevelOptimum::most_levels).size(), 5u) << ranks;
    EXPECT_LE(best_reduction_levels(ranks, LineCosts(), LevelOptimum::most_levels).size(), 5u) << ranks;
  }
}

/// A machine where memory is what costs: flatter trees than on the Xeon Phi.
LineCosts slow_memory() {
  LineCosts costs;
  costs.memory = 20000;
  return costs;
}

std::string effective(Operation operation, const std::string& spec, const Shape& shape) {
  return family(operation).effective(family(operation).parse(spec), shape).text();
}

std::string levels_text(const Levels& levels) {
  std::string text = "model-tree";
  for (std::size_t i = 0; i < 6; ++i)
    text += ":k" + std::to_string(i + 1) + "=" + std::to_string(i < levels.size() ? levels[i] : 0);
  return text;
}

TEST(LineCosts, AreWhatTheDesignedAlgorithmsTakeTheirParametersFrom) {
  Shape shape = Shape::unknown(60);
  const auto expect = [&](Operation operation, const std::string& spec, const Levels& levels) {
    const std::string text = effective(operation, spec, shape);
    EXPECT_EQ(text.find(levels_text(levels)), 0u) << text;
  };
  expect(Operation::broadcast, "model-tree", {4, 4, 3});
  expect(Operation::reduce, "model-tree", {4, 4, 3});
  EXPECT_EQ(family(Operation::barrier)
                .effective(family(Operation::barrier).parse("dissemination-acknowledged"), shape)
                .values[0]
                .second,
            "3");
  shape.set_costs(slow_memory());
  expect(Operation::broadcast, "model-tree", {8, 7});
  expect(Operation::reduce, "model-tree", {8, 7});
  expect(Operation::broadcast, "model-tree:k1=4:k2=4:k3=3", {4, 4, 3});
  expect(Operation::reduce, "model-tree:k1=4:k2=4:k3=3", {4, 4, 3});
  LineCosts near;
  near.local = 3000;  // a round costs much beside a partner
  near.remote = 10;
  shape.set_costs(near);
  EXPECT_EQ(family(Operation::barrier)
                .effective(family(Operation::barrier).parse("dissemination-acknowledged"), shape)
                .values[0]
                .second,
            "59");
  EXPECT_EQ(family(Operation::barrier)
                .effective(family(Operation::barrier).parse("dissemination-acknowledged:m=5"), shape)
                .values[0]
                .second,
            "5");
}

TEST(LineCosts, GoWithTheRanksIntoThePartsOfAGroup) {
  Shape shape = place_ranks(8, uniform_machine(4, 2), Placement::compact);
  shape.set_costs(slow_memory());
  const Hierarchy levels(shape, Grouping::core);
  EXPECT_EQ(Hierarchy::part_shape(shape, levels.parts(0)[1]).costs(), slow_memory());
  EXPECT_EQ(Hierarchy::part_shape(shape, levels.leaders()).costs(), slow_memory());
  EXPECT_EQ(Shape::unknown(3).costs(), LineCosts());
}

}  // namespace
}  // namespace phicoll
