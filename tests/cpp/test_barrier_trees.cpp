// The shapes of the trees that barriers gather and release along, against the papers' definitions.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "phicoll/collectives/barrier/binomial_tree.hpp"
#include "phicoll/collectives/barrier/game_tree.hpp"
#include "phicoll/collectives/barrier/k_nomial_tree.hpp"
#include "phicoll/collectives/barrier/tournament_tree.hpp"
#include "phicoll/collectives/barrier/tree.hpp"
#include "phicoll/collectives/structure/heap_tree.hpp"

namespace phicoll {
namespace {

const std::vector<int> sizes = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 64, 240, 244, 1023, 1024};

/// Every rank but 0 is told by exactly one other, the one it takes for its parent; returns the depth.
template <class Children, class Parent>
int depth_of(int size, Children children, Parent parent) {
  std::vector<int> depth(static_cast<std::size_t>(size), -1);
  std::vector<int> front{0};
  depth[0] = 0;
  for (std::size_t i = 0; i < front.size(); ++i)
    for (int child : children(front[i])) {
      EXPECT_LT(child, size);
      EXPECT_EQ(depth[static_cast<std::size_t>(child)], -1) << "rank " << child << " is told twice";
      EXPECT_EQ(parent(child), front[i]);
      depth[static_cast<std::size_t>(child)] = depth[static_cast<std::size_t>(front[i])] + 1;
      front.push_back(child);
    }
  EXPECT_EQ(front.size(), static_cast<std::size_t>(size)) << "every rank is reached";
  return *std::max_element(depth.begin(), depth.end());
}

TEST(HeapTree, ReachesEveryRankOnce) {
  for (int size : sizes)
    for (int degree : {2, 3, 4, 6, 1024})
      depth_of(
          size, [&](int r) { return heap_children(size, degree, r); },
          [&](int r) { return heap_parent(degree, r); });
}

TEST(HeapTree, OfDegreeSixIsThreeDeepFor244Ranks) {
  EXPECT_EQ(depth_of(
                244, [](int r) { return heap_children(244, 6, r); }, [](int r) { return heap_parent(6, r); }),
            3);
}

TEST(KNomialTree, ReachesEveryRankOnceInCeilLogPhases) {
  for (int size : sizes)
    for (int degree : {2, 3, 4, 6, 1024}) {
      depth_of(
          size, [&](int r) { return k_nomial_children(size, degree, r); },
          [&](int r) { return k_nomial_parent(degree, r); });
      // The phase in which a rank is informed, counted from 1: at most ceil(log_k P), and k-1 told a phase.
      for (int rank = 0; rank < size; ++rank) {
        std::map<int, int> told_in_phase;
        for (int child : k_nomial_children(size, degree, rank)) {
          const int phase = ceil_log(degree, child + 1);
          EXPECT_LE(phase, ceil_log(degree, size));
          EXPECT_LE(++told_in_phase[phase], degree - 1);
          EXPECT_GT(phase, ceil_log(degree, rank + 1)) << "only informed ranks inform others";
        }
      }
    }
}

TEST(KNomialTree, OfDegreeTwoIsThePapersBinomialTree) {
  for (int size : sizes)
    for (int rank = 0; rank < size; ++rank) {
      std::vector<int> children;
      for (int i = 0; i < ceil_log(2, size); ++i)
        if ((1 << i) > rank && rank + (1 << i) < size) children.push_back(rank + (1 << i));
      EXPECT_EQ(k_nomial_children(size, 2, rank), children);
    }
}

TEST(TournamentTree, PairsUpAndTheLowerRankWins) {
  for (int size : sizes) {
    std::set<int> beaten;
    for (int rank = 0; rank < size; ++rank)
      for (int loser : TournamentTree::neighbours({}, size, rank).gather) {
        EXPECT_GT(loser, rank);
        EXPECT_TRUE(beaten.insert(loser).second) << "rank " << loser << " loses twice";
      }
    EXPECT_EQ(beaten.size(), static_cast<std::size_t>(size - 1));
    EXPECT_EQ(TournamentTree::neighbours({}, size, 0).gather.size(),
              static_cast<std::size_t>(ceil_log(2, size)));
  }
}

TEST(GameTree, LeavesOneChampionAndNoGameWithoutPlayers) {
  for (int size : sizes)
    for (int ways : {2, 3, 4, 5, 8, 1024}) {
      std::map<std::size_t, std::map<int, std::set<int>>> below;  // game, slot, ranks below the slot
      std::map<std::size_t, int> entrants;
      for (int rank = 0; rank < size; ++rank)
        for_each_game(size, ways, rank, [&](const Game& game) {
          EXPECT_LT(game.number, game_count(size, ways));
          EXPECT_GE(rank, game.first_rank + game.slot * game.span);
          EXPECT_LT(rank, game.first_rank + (game.slot + 1) * game.span);
          below[game.number][game.slot].insert(rank);
          entrants[game.number] = game.entrants;
        });
      // All but one of the entrants of each game go no further.
      int out = 0;
      for (const auto& game : below) {
        EXPECT_EQ(game.second.size(), static_cast<std::size_t>(entrants[game.first]));
        EXPECT_GE(entrants[game.first], 2);
        EXPECT_LE(entrants[game.first], ways);
        out += entrants[game.first] - 1;
      }
      EXPECT_EQ(out, size - 1);
    }
}

TEST(FlagTrees, RefuseToUnsetFlagsThatAnotherRankAwaits) {
  TournamentTree::Parameters tournament;
  EXPECT_EQ(TournamentTree::refuse(tournament), nullptr);
  tournament.flags.reset = Reset::unset;
  EXPECT_NE(TournamentTree::refuse(tournament), nullptr);
  BinomialTree::Parameters binomial;
  binomial.flags.reset = Reset::unset;
  EXPECT_NE(BinomialTree::refuse(binomial), nullptr);
  binomial.release = BinomialTree::Release::binomial;
  EXPECT_EQ(BinomialTree::refuse(binomial), nullptr);
}

}  // namespace
}  // namespace phicoll
