#pragma once

// The statistics of results, as pure functions: medians with exact intervals, sign tests, Holm's correction,
// variance components. Nothing here assumes a normal distribution unless it says so.

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace phicoll {

/// An estimate with its interval. `valid` is false when there are too few values for any interval of the
/// level asked for; low and high are then the smallest and the largest value. `coverage` is the probability
/// that the interval really has, at least the level when valid.
struct Interval {
  double value = 0;
  double low = 0;
  double high = 0;
  double coverage = 0;
  std::size_t count = 0;
  bool valid = false;
};

/// The middle value, or the mean of the two middle ones. NaN for none.
double median(std::vector<double> values);
/// The arithmetic mean. NaN for none.
double mean(const std::vector<double>& values);
/// The largest value, or the smallest. NaN for none.
double largest(const std::vector<double>& values);
double smallest(const std::vector<double>& values);
/// The percentile `p` (0 to 100), linear between the closest ranks (R's type 7). NaN for none.
double percentile(std::vector<double> values, double p);
/// The interquartile mean: the mean of the middle half, the values at its ends by their share. As robust as a
/// median against a quarter of bad values on each side, and not bound to the steps of a coarse clock, to
/// which the median of a few calls is. NaN for none.
double midmean(std::vector<double> values);
/// exp of the mean of the logs; NaN for none or where a value is not positive. For ratios.
double geometric_mean(const std::vector<double>& values);

/// The median with its exact order-statistic interval, of coverage at least `level` for independent values of
/// any continuous distribution (the sign test turned round; Conover 1999, section 3.2). Throws
/// ArgumentError("level") outside 0..1.
Interval median_interval(std::vector<double> values, double level);

/// The smallest number of values for which there is an interval of that level: 6 for 0.95, 8 for 0.99.
std::size_t least_count(double level);

/// The two-sided sign test's p-value that the median of `values` is `centre`; values equal to it are left
/// out. 1 for none.
double sign_test(const std::vector<double>& values, double centre);

/// Holm's step-down correction: the adjusted p-value of each, in the order given (Holm 1979).
std::vector<double> holm(const std::vector<double>& p_values);

/// The confidence of each one's interval, so that it excludes "no difference" exactly if Holm's procedure
/// rejects it at 1 - confidence. The k-th smallest of m p-values is tested at (1 - confidence) / (m - k + 1);
/// from the first that fails on all get its level; equal ones share a level.
std::vector<double> holm_levels(const std::vector<double>& p_values, double confidence);

/// Divides the variance of nested values: `values[i]` belongs to group `groups[i]` (a launch). By the method
/// of moments of a one-way random model with unequal group sizes (Searle 1971); the between component is not
/// below 0.
struct VarianceComponents {
  double between = 0;  ///< of the groups' means
  double within = 0;
  double between_share = 0;  ///< of their sum; 0 when both are 0
  std::size_t groups = 0;
};
/// Throws ArgumentError("groups") when the lengths differ.
VarianceComponents variance_components(const std::vector<double>& values, const std::vector<int>& groups);

/// Logarithms are taken of at least this time: subtracting the empty loop can leave 0.
constexpr double smallest_ns = 1e-3;

/// The launches' share of the variance from which on launches, not rounds, are a test's units.
constexpr double least_launch_share = 0.1;

/// The independent values of one test: those of the rounds, or the launches' medians where launches differ.
struct Units {
  std::vector<double> values;
  bool by_launch = false;
  double launch_share = 0;  ///< of the variance of the logs; 0 with one launch
  std::size_t launches = 0;
};
/// `values` has a positive value of each round, `launches` the launch of each.
Units units_of(const std::vector<double>& values, const std::vector<int>& launches);

/// The index of the best of several subjects: of those that share rounds with the most others, the one with
/// the lowest median over `rounds` of (log value - the round's median over the subjects), the first of equal
/// ones. `logs` has each one's log values by round. Returns the number of subjects if there is none.
std::size_t choose_best(const std::vector<std::map<int, double>>& logs, const std::vector<int>& rounds);

}  // namespace phicoll
