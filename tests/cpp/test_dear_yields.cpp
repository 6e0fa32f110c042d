#include "gtest/gtest.h"
#include "phicoll/waiting/dear_yields.hpp"

namespace phicoll {
namespace {

constexpr std::int64_t ms = 1000 * 1000;

/// Three yields of 4 ms, one after the other.
void show_dear(DearYields& yields, std::int64_t now) {
  for (int i = 2; i >= 0; --i) yields.note(DearYields::Way::yields, now - (i + 1) * 4 * ms, now - i * 4 * ms);
  ASSERT_NE(yields.way(now), DearYields::Way::yields);
}

TEST(DearYields, AreNotShownByOneAmongMany) {
  DearYields yields;
  std::int64_t now = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(yields.note(DearYields::Way::yields, now, now + 4 * ms));
    for (int wait = 0; wait < 100; ++wait) EXPECT_EQ(yields.way(now), DearYields::Way::yields);
    now += 10 * ms;
  }
}

TEST(DearYields, AreLeftOutForManyTimesAsLong) {
  DearYields yields;
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(yields.note(DearYields::Way::yields, (i - 1) * 4 * ms, i * 4 * ms));
    EXPECT_EQ(yields.way(4 * ms), DearYields::Way::yields);
  }
  EXPECT_TRUE(yields.note(DearYields::Way::yields, 4 * ms, 8 * ms));
  EXPECT_EQ(yields.way(30 * ms), DearYields::Way::without);
}

TEST(DearYields, AreTriedByOneWait) {
  DearYields yields;
  show_dear(yields, 4 * ms);
  EXPECT_EQ(yields.way(1000 * ms), DearYields::Way::tries);
  EXPECT_EQ(yields.way(1000 * ms), DearYields::Way::without);
  EXPECT_FALSE(yields.note(DearYields::Way::tries, 1000 * ms, 1000 * ms + 1));
  EXPECT_EQ(yields.way(1001 * ms), DearYields::Way::yields);
}

TEST(DearYields, AreLeftOutForLongerEachTime) {
  DearYields yields;
  show_dear(yields, 4 * ms);
  std::int64_t before = 0, now = 4 * ms;
  for (int i = 0; i < 4; ++i) {
    const std::int64_t began = now;
    while (yields.way(now) != DearYields::Way::tries) now += ms;
    EXPECT_GT(now - began, before);
    before = now - began;
    EXPECT_TRUE(yields.note(DearYields::Way::tries, now, now + 4 * ms));
  }
}

TEST(DearYields, AreLeftOutForLongerIfATrialMisled) {
  DearYields yields;
  const auto left_out_ms = [&yields](std::int64_t now) {
    std::int64_t then = now;
    while (yields.way(then) == DearYields::Way::without) then += ms;
    EXPECT_FALSE(yields.note(DearYields::Way::tries, then, then + 1));
    return (then - now) / ms;
  };
  show_dear(yields, 4 * ms);
  const std::int64_t first = left_out_ms(4 * ms);
  std::int64_t now = (4 + first + 10) * ms;
  show_dear(yields, now);
  const std::int64_t second = left_out_ms(now);
  EXPECT_GT(second, 2 * first - 8 - 2) << "the first of three yields of 4 ms showed it";
  now += 4 * second * ms;  // they were short for long
  show_dear(yields, now);
  EXPECT_LT(left_out_ms(now), first + 2);
}

TEST(DearYields, AreNotedOnceBySeveralThreads) {
  DearYields together;
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(together.note(DearYields::Way::yields, i, 4 * ms + i));
  EXPECT_EQ(together.way(5 * ms), DearYields::Way::yields) << "one slice";
  DearYields yields;
  show_dear(yields, 4 * ms);
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(yields.note(DearYields::Way::yields, 1, 4 * ms));
  EXPECT_EQ(yields.way(4 * ms * 8), DearYields::Way::without);
  EXPECT_EQ(yields.way(4 * ms * 10), DearYields::Way::tries);
}

TEST(DearYields, AreNotedForSomeWaits) {
  DearYields yields(4);
  int noted = 0;
  for (int wait = 0; wait < 100; ++wait) noted += yields.notes(yields.way(wait)) ? 1 : 0;
  EXPECT_EQ(noted, 25);
}

TEST(DearYields, AreAllNotedAfterALongOne) {
  DearYields yields(8);
  yields.note(DearYields::Way::yields, 0, 4 * ms);
  const auto noted_of = [&yields](int waits) {
    int noted = 0;
    for (int wait = 0; wait < waits; ++wait) noted += yields.notes(yields.way(4 * ms)) ? 1 : 0;
    return noted;
  };
  EXPECT_EQ(noted_of(63), 63);
  EXPECT_EQ(noted_of(80), 10);
}

TEST(DearYields, AreJudgedByTheNotedWaits) {
  const auto dear_with = [](int waits) {
    DearYields yields(8);
    for (std::int64_t now : {0, 10, 20}) {
      yields.note(DearYields::Way::yields, now * ms, (now + 4) * ms);
      for (int wait = 0; wait < waits; ++wait) yields.way((now + 4) * ms);
    }
    return yields.way(24 * ms) != DearYields::Way::yields;
  };
  EXPECT_TRUE(dear_with(150)) << "74 were noted";
  EXPECT_FALSE(dear_with(300)) << "93 were";
}

TEST(DearYields, AreForgottenByAMove) {
  DearYields yields;
  show_dear(yields, 4 * ms);
  yields.forget();
  EXPECT_EQ(yields.way(5 * ms), DearYields::Way::yields);
}

}  // namespace
}  // namespace phicoll
