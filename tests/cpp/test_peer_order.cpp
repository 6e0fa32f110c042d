// In which order a rank awaits the others.

#include <gtest/gtest.h>

#include <vector>

#include "phicoll/collectives/structure/peer_order.hpp"

namespace phicoll {
namespace {

PeerOrder peers(const Shape& shape, int rank) {
  return PeerOrder(Setup{rank, shape, nullptr});
}
std::vector<int> order_of(const Shape& shape, int rank) {
  const PeerOrder order = peers(shape, rank);
  return {order.begin(), order.end()};
}

TEST(PeerOrder, BeginsWithTheRanksOfTheOwnCpu) {
  // Six ranks dealt out to two CPUs in turn.
  std::vector<CpuLocation> places(6);
  for (int r = 0; r < 6; ++r) places[static_cast<std::size_t>(r)].cpu = r % 2;
  const Shape shape(places);
  EXPECT_EQ(order_of(shape, 0), (std::vector<int>{2, 4, 1, 3, 5}));
  EXPECT_EQ(order_of(shape, 3), (std::vector<int>{5, 1, 4, 0, 2}));
  EXPECT_TRUE(peers(shape, 3).sharing());
}

TEST(PeerOrder, IsFromTheNextRankOnWhereNoneShares) {
  EXPECT_EQ(order_of(Shape::unknown(4), 1), (std::vector<int>{2, 3, 0}));
  EXPECT_FALSE(peers(Shape::unknown(4, true), 1).sharing());
  std::vector<CpuLocation> places(3);
  for (int r = 0; r < 3; ++r) places[static_cast<std::size_t>(r)].cpu = r;
  EXPECT_EQ(order_of(Shape(places), 2), (std::vector<int>{0, 1}));
  EXPECT_TRUE(order_of(Shape::unknown(1), 0).empty());
}

}  // namespace
}  // namespace phicoll
