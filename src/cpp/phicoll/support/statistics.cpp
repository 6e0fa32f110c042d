#include "phicoll/support/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "phicoll/errors.hpp"

namespace phicoll {

namespace {

const double nan_value = std::numeric_limits<double>::quiet_NaN();

// P(X = i) for X ~ Binomial(n, 1/2), by logarithms: exact to rounding for any n.
double binomial_half(std::size_t i, std::size_t n) {
  const double di = static_cast<double>(i);
  const double dn = static_cast<double>(n);
  return std::exp(std::lgamma(dn + 1) - std::lgamma(di + 1) - std::lgamma(dn - di + 1) - dn * std::log(2.0));
}

// P(X <= k).
double binomial_half_below(std::size_t k, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i <= k && i <= n; ++i) sum += binomial_half(i, n);
  return std::min(sum, 1.0);
}

void check_level(double level) {
  if (!(level > 0 && level < 1))
    throw ArgumentError("level", std::to_string(level), "a probability above 0 and below 1, such as 0.95");
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return nan_value;
  const std::size_t half = values.size() / 2;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(half);
  std::nth_element(values.begin(), middle, values.end());
  const double upper = *middle;
  if (values.size() % 2 == 1) return upper;
  return 0.5 * (*std::max_element(values.begin(), middle) + upper);
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return nan_value;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double largest(const std::vector<double>& values) {
  return values.empty() ? nan_value : *std::max_element(values.begin(), values.end());
}

double smallest(const std::vector<double>& values) {
  return values.empty() ? nan_value : *std::min_element(values.begin(), values.end());
}

double percentile(std::vector<double> values, double p) {
  if (!(p >= 0 && p <= 100)) throw ArgumentError("p", std::to_string(p), "a percentage from 0 to 100");
  if (values.empty()) return nan_value;
  std::sort(values.begin(), values.end());
  const double at = p / 100 * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= values.size()) return values.back();
  return values[below] + (at - static_cast<double>(below)) * (values[below + 1] - values[below]);
}

double midmean(std::vector<double> values) {
  if (values.empty()) return nan_value;
  std::sort(values.begin(), values.end());
  // Each value stands for an interval of length 1; the middle half is [n/4, 3n/4].
  const double n = static_cast<double>(values.size());
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double at = static_cast<double>(i);
    const double share = std::min(at + 1, 0.75 * n) - std::max(at, 0.25 * n);
    if (share > 0) sum += share * values[i];
  }
  return sum / (0.5 * n);
}

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) {
    if (!(value > 0)) return nan_value;
    sum += std::log(value);
  }
  return values.empty() ? nan_value : std::exp(sum / static_cast<double>(values.size()));
}

Interval median_interval(std::vector<double> values, double level) {
  check_level(level);
  Interval result;
  result.count = values.size();
  if (values.empty()) {
    result.value = result.low = result.high = nan_value;
    return result;
  }
  result.value = median(values);
  std::sort(values.begin(), values.end());
  // [x(d), x(n+1-d)] covers the median with probability 1 - 2 P(X <= d - 1): the largest d that keeps the
  // level.
  const std::size_t n = values.size();
  std::size_t depth = 0;
  double below = 0;  // P(X <= depth - 1)
  while (depth + 1 <= (n + 1) / 2) {
    const double next = below + binomial_half(depth, n);
    if (1 - 2 * next < level) break;
    below = next;
    ++depth;
  }
  result.valid = depth >= 1;
  if (depth == 0) {
    depth = 1;
    below = binomial_half(0, n);
  }
  result.low = values[depth - 1];
  result.high = values[n - depth];
  result.coverage = std::max(0.0, 1 - 2 * below);
  return result;
}

std::size_t least_count(double level) {
  check_level(level);
  std::size_t n = 1;
  while (1 - 2 * std::pow(0.5, static_cast<double>(n)) < level) ++n;
  return n;
}

double sign_test(const std::vector<double>& values, double centre) {
  std::size_t above = 0;
  std::size_t below = 0;
  for (const double value : values) {
    above += value > centre ? 1 : 0;
    below += value < centre ? 1 : 0;
  }
  const std::size_t n = above + below;
  if (n == 0) return 1;
  return std::min(1.0, 2 * binomial_half_below(std::min(above, below), n));
}

std::vector<double> holm(const std::vector<double>& p_values) {
  const std::size_t n = p_values.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(n);
  double before = 0;
  for (std::size_t i = 0; i < n; ++i) {
    before = std::min(1.0, std::max(before, static_cast<double>(n - i) * p_values[order[i]]));
    adjusted[order[i]] = before;
  }
  return adjusted;
}

std::vector<double> holm_levels(const std::vector<double>& p_values, double confidence) {
  check_level(confidence);
  const std::size_t n = p_values.size();
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> levels(n);
  double level = 0;
  bool stopped = false;
  for (std::size_t i = 0; i < n; ++i) {
    const double p = p_values[order[i]];
    const bool equal = i > 0 && p == p_values[order[i - 1]];
    if (!stopped && !equal) {
      level = (1 - confidence) / static_cast<double>(n - i);
      stopped = p > level;
    }
    levels[order[i]] = 1 - level;
  }
  return levels;
}

VarianceComponents variance_components(const std::vector<double>& values, const std::vector<int>& groups) {
  if (values.size() != groups.size())
    throw ArgumentError("groups", std::to_string(groups.size()) + " values",
                        "one for each of the " + std::to_string(values.size()) + " values");
  std::map<int, std::vector<double>> members;
  for (std::size_t i = 0; i < values.size(); ++i) members[groups[i]].push_back(values[i]);
  VarianceComponents result;
  result.groups = members.size();
  if (values.empty()) return result;
  const double n = static_cast<double>(values.size());
  const double k = static_cast<double>(members.size());
  const double centre = mean(values);
  double squares_within = 0;
  double squares_between = 0;
  double sizes_squared = 0;
  for (const auto& group : members) {
    const double size = static_cast<double>(group.second.size());
    const double middle = mean(group.second);
    squares_between += size * (middle - centre) * (middle - centre);
    sizes_squared += size * size;
    for (const double value : group.second) squares_within += (value - middle) * (value - middle);
  }
  result.within = n > k ? squares_within / (n - k) : 0;
  if (k > 1) {
    const double typical = (n - sizes_squared / n) / (k - 1);
    result.between = std::max(0.0, (squares_between / (k - 1) - result.within) / typical);
  }
  const double sum = result.between + result.within;
  result.between_share = sum > 0 ? result.between / sum : 0;
  return result;
}

Units units_of(const std::vector<double>& values, const std::vector<int>& launches) {
  std::vector<double> logs;
  for (const double value : values) logs.push_back(std::log(std::max(value, smallest_ns)));
  const VarianceComponents parts = variance_components(logs, launches);
  Units units;
  units.launches = parts.groups;
  if (parts.groups > 1) units.launch_share = parts.between_share;
  units.by_launch = units.launch_share >= least_launch_share;
  if (!units.by_launch) {
    units.values = values;
    return units;
  }
  std::map<int, std::vector<double>> members;
  for (std::size_t i = 0; i < values.size(); ++i) members[launches[i]].push_back(values[i]);
  for (auto& launch : members) units.values.push_back(median(std::move(launch.second)));
  return units;
}

std::size_t choose_best(const std::vector<std::map<int, double>>& logs, const std::vector<int>& rounds) {
  std::map<int, double> centres;
  for (const int round : rounds) {
    std::vector<double> present;
    for (const auto& of : logs) {
      const auto found = of.find(round);
      if (found != of.end()) present.push_back(found->second);
    }
    if (!present.empty()) centres[round] = median(std::move(present));
  }
  const auto meet = [&](const std::map<int, double>& a, const std::map<int, double>& b) {
    return std::any_of(centres.begin(), centres.end(), [&](const std::pair<const int, double>& at) {
      return a.count(at.first) != 0 && b.count(at.first) != 0;
    });
  };
  std::vector<std::ptrdiff_t> meets;
  for (const auto& a : logs)
    meets.push_back(
        std::count_if(logs.begin(), logs.end(), [&](const std::map<int, double>& b) { return meet(a, b); }));
  std::size_t best = logs.size();
  double best_score = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < logs.size(); ++i) {
    if (meets[i] < *std::max_element(meets.begin(), meets.end())) continue;
    std::vector<double> scores;
    for (const auto& at : logs[i]) {
      const auto centre = centres.find(at.first);
      if (centre != centres.end()) scores.push_back(at.second - centre->second);
    }
    if (scores.empty()) continue;
    const double score = median(std::move(scores));
    if (score < best_score) {
      best = i;
      best_score = score;
    }
  }
  return best;
}

}  // namespace phicoll
