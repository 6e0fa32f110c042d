// The statistics of results: known values, and how often they err in either direction on drawn samples of
// known distribution. Seeded: the outcome is the same everywhere.

#include <gtest/gtest.h>

#include <cmath>

#include "phicoll/errors.hpp"
#include "phicoll/support/random.hpp"
#include "phicoll/support/statistics.hpp"

using namespace phicoll;

namespace {

// Skewed and heavy-tailed, as run times are: exp of a normal, with one in ten ten times as large.
double draw_time(Random& random, double scale) {
  const double u = random.unit() + 1e-12;
  const double normal = std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * random.unit());
  const double spike = random.unit() < 0.1 ? 10 : 1;
  return scale * std::exp(0.1 * normal) * spike;
}

// The median of draw_time(1): from many draws, once.
double true_median() {
  static const double value = [] {
    Random random(99);
    std::vector<double> many;
    for (int i = 0; i < 400000; ++i) many.push_back(draw_time(random, 1));
    return median(many);
  }();
  return value;
}

}  // namespace

TEST(Statistics, MedianMeanAndPercentilesOfKnownValues) {
  EXPECT_DOUBLE_EQ(median({3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_DOUBLE_EQ(mean({1, 2, 6}), 3);
  EXPECT_DOUBLE_EQ(percentile({1, 2, 3, 4, 5}, 50), 3);
  EXPECT_DOUBLE_EQ(percentile({1, 2, 3, 4, 5}, 95), 4.8);
  EXPECT_DOUBLE_EQ(percentile({5, 4, 3, 2, 1}, 100), 5);
  EXPECT_DOUBLE_EQ(geometric_mean({1, 4, 16}), 4);
  EXPECT_DOUBLE_EQ(largest({1, 7, 3}), 7);
  EXPECT_DOUBLE_EQ(smallest({4, 2, 3}), 2);
}

TEST(Statistics, NothingIsNotANumber) {
  for (const double value : {median({}), mean({}), percentile({}, 50), geometric_mean({}), midmean({}),
                             largest({}), smallest({}), geometric_mean({1, 0})})
    EXPECT_TRUE(std::isnan(value));
  EXPECT_FALSE(median_interval({}, 0.95).valid);
}

TEST(Statistics, MidmeanIsTheMeanOfTheMiddleHalf) {
  EXPECT_DOUBLE_EQ(midmean({1, 2, 3, 1000}), 2.5);
  EXPECT_DOUBLE_EQ(midmean({5}), 5);
  // n = 5: the middle half is [1.25, 3.75]: three quarters of the second and the fourth, all of the third.
  EXPECT_DOUBLE_EQ(midmean({0, 1, 2, 4, 1e9}), (0.75 * 1 + 2 + 0.75 * 4) / 2.5);
}

TEST(Statistics, MidmeanResolvesWhatTheMedianOfACoarseClockCannot) {
  Random random(3);
  double low = 0, high = 0;
  for (int sample = 0; sample < 50; ++sample) {
    std::vector<double> a, b;
    for (int i = 0; i < 64; ++i) {
      const double phase = 10 * random.unit();
      const auto read = [&](double ns) { return std::floor((phase + ns) / 10) * 10; };
      a.push_back(read(92));
      b.push_back(read(95));
    }
    low += midmean(a) / 50;
    high += midmean(b) / 50;
  }
  EXPECT_GT(high - low, 1);
}

TEST(Statistics, IntervalOfTheMedianTakesTheKnownOrderStatistics) {
  std::vector<double> values;
  for (int i = 1; i <= 20; ++i) values.push_back(i);
  // The tables of the sign test give the 6th and the 15th of 20, with coverage 0.9586.
  const Interval interval = median_interval(values, 0.95);
  EXPECT_TRUE(interval.valid);
  EXPECT_DOUBLE_EQ(interval.low, 6);
  EXPECT_DOUBLE_EQ(interval.high, 15);
  EXPECT_NEAR(interval.coverage, 0.9586, 0.0001);
  EXPECT_DOUBLE_EQ(interval.value, 10.5);
}

TEST(Statistics, TooFewValuesForTheLevelAreSaidToBe) {
  EXPECT_EQ(least_count(0.95), 6u);
  EXPECT_EQ(least_count(0.99), 8u);
  const Interval five = median_interval({1, 2, 3, 4, 5}, 0.95);
  EXPECT_FALSE(five.valid);
  EXPECT_DOUBLE_EQ(five.low, 1);
  EXPECT_DOUBLE_EQ(five.high, 5);
  EXPECT_NEAR(five.coverage, 1 - 2.0 / 32, 1e-12);
  EXPECT_TRUE(median_interval({1, 2, 3, 4, 5, 6}, 0.95).valid);
}

TEST(Statistics, ManyValuesGiveAnInterval) {
  std::vector<double> values;
  for (int i = 0; i < 20001; ++i) values.push_back(i);
  const Interval interval = median_interval(values, 0.95);
  EXPECT_TRUE(interval.valid);
  // 1.96 sqrt(n) / 2 on each side.
  EXPECT_NEAR(interval.low, 10000 - 138.6, 2);
  EXPECT_NEAR(interval.high, 10000 + 138.6, 2);
}

TEST(Statistics, IntervalsMissTheMedianNoMoreOftenThanTheySay) {
  for (const int n : {6, 11, 20, 75}) {
    Random random(static_cast<std::uint64_t>(n));
    int missed = 0;
    constexpr int trials = 4000;
    for (int trial = 0; trial < trials; ++trial) {
      std::vector<double> values;
      for (int i = 0; i < n; ++i) values.push_back(draw_time(random, 1));
      const Interval interval = median_interval(values, 0.95);
      if (interval.low > true_median() || interval.high < true_median()) ++missed;
    }
    // Four standard errors of a rate of 5 % in 4000 trials are 1.4 %.
    EXPECT_LT(missed, trials * 0.064) << n << " values";
  }
}

TEST(Statistics, EqualSubjectsAreSeldomCalledDifferent) {
  Random random(7);
  int alarms = 0;
  constexpr int trials = 4000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> logs;
    for (int i = 0; i < 40; ++i) logs.push_back(std::log(draw_time(random, 1) / draw_time(random, 1)));
    const Interval ratio = median_interval(logs, 0.95);
    if (ratio.low > 0 || ratio.high < 0) ++alarms;
  }
  EXPECT_LT(alarms, trials * 0.064);
  EXPECT_GT(alarms, 0);  // an interval that never errs is not one of 95 %
}

TEST(Statistics, ADifferenceOfTenPercentIsSeldomMissed) {
  Random random(8);
  int missed = 0;
  constexpr int trials = 1000;
  for (int trial = 0; trial < trials; ++trial) {
    std::vector<double> logs;
    for (int i = 0; i < 100; ++i) logs.push_back(std::log(draw_time(random, 1.1) / draw_time(random, 1)));
    if (median_interval(logs, 0.95).low <= 0) ++missed;
  }
  EXPECT_LT(missed, trials * 0.1);
}

TEST(Statistics, ALevelIsBelowOne) {
  EXPECT_THROW(median_interval({1, 2}, 1.5), ArgumentError);
}

TEST(Statistics, SignTestHasItsKnownValues) {
  EXPECT_NEAR(sign_test({1, 2, 3, 4, 5, 6}, 0), 2.0 / 64, 1e-12);
  EXPECT_NEAR(sign_test({1, 2, 3, 4, 5, -6}, 0), 2.0 * 7 / 64, 1e-12);
  EXPECT_DOUBLE_EQ(sign_test({1, -1}, 0), 1);
  EXPECT_DOUBLE_EQ(sign_test({0, 0}, 0), 1);
}

TEST(Statistics, HolmAdjustsStepByStep) {
  // Holm 1979: 4 * 0.005, then 3 * 0.011, 2 * 0.02, and the last one no less than those before it.
  const std::vector<double> adjusted = holm({0.02, 0.005, 0.04, 0.011});
  EXPECT_NEAR(adjusted[1], 0.02, 1e-12);
  EXPECT_NEAR(adjusted[3], 0.033, 1e-12);
  EXPECT_NEAR(adjusted[0], 0.04, 1e-12);
  EXPECT_NEAR(adjusted[2], 0.04, 1e-12);
  EXPECT_TRUE(holm({}).empty());
}

TEST(Statistics, HolmKeepsAFalseAlarmInATableRare) {
  Random random(17);
  int tables_with_alarm = 0;
  constexpr int tables = 1000;
  for (int table = 0; table < tables; ++table) {
    std::vector<double> p;
    for (int row = 0; row < 20; ++row) {
      std::vector<double> logs;
      for (int i = 0; i < 40; ++i) logs.push_back(std::log(draw_time(random, 1) / draw_time(random, 1)));
      p.push_back(sign_test(logs, 0));
    }
    for (const double value : holm(p))
      if (value < 0.05) {
        ++tables_with_alarm;
        break;
      }
  }
  EXPECT_LT(tables_with_alarm, tables * 0.08);
}

TEST(Statistics, VarianceComponentsAreFoundAgain) {
  Random random(21);
  const auto normal = [&] {
    return std::sqrt(-2 * std::log(random.unit() + 1e-12)) * std::cos(6.283185307179586 * random.unit());
  };
  std::vector<double> values;
  std::vector<int> groups;
  for (int group = 0; group < 400; ++group) {
    const double of_group = 2 * normal();
    for (int i = 0; i < 5 + group % 7; ++i) {
      values.push_back(of_group + 3 * normal());
      groups.push_back(group);
    }
  }
  const VarianceComponents parts = variance_components(values, groups);
  EXPECT_NEAR(parts.between, 4, 1);
  EXPECT_NEAR(parts.within, 9, 1);
  EXPECT_NEAR(parts.between_share, 4.0 / 13, 0.07);
  EXPECT_EQ(parts.groups, 400u);
}

TEST(Statistics, VarianceComponentsOfEqualLaunchesAreAllWithin) {
  const VarianceComponents parts = variance_components({1, 2, 3, 1, 2, 3}, {0, 0, 0, 1, 1, 1});
  EXPECT_DOUBLE_EQ(parts.between, 0);
  EXPECT_DOUBLE_EQ(parts.within, 1);
  EXPECT_THROW(variance_components({1}, {}), ArgumentError);
}

TEST(Statistics, UnitsAreTheLaunchesMediansWhereLaunchesDiffer) {
  std::vector<double> values;
  std::vector<int> launches;
  for (int launch = 0; launch < 10; ++launch)
    for (int round = 0; round < 5; ++round) {
      values.push_back((launch % 2 == 0 ? 100 : 200) + round);
      launches.push_back(launch);
    }
  const Units apart = units_of(values, launches);
  EXPECT_TRUE(apart.by_launch);
  ASSERT_EQ(apart.values.size(), 10u);
  EXPECT_DOUBLE_EQ(apart.values[0], 102);
  EXPECT_DOUBLE_EQ(apart.values[1], 202);
  const Units alike = units_of({1, 2, 3, 1, 2, 3}, {0, 0, 0, 1, 1, 1});
  EXPECT_FALSE(alike.by_launch);
  EXPECT_EQ(alike.values.size(), 6u);
  EXPECT_FALSE(units_of({1, 0, 3}, {7, 7, 7}).by_launch);  // one launch; a 0 has a logarithm too
}
