#include "phicoll/sim/running/point_budget.hpp"

#include <cstdio>
#include <numeric>

#include "phicoll/arch/arch.hpp"
#include "phicoll/measure/work.hpp"

namespace phicoll {
namespace sim {

namespace {

constexpr double estimate_after = 0.1;  // of the budget: what ran in less says little of the rest
constexpr std::size_t most_named = 6;

// Simulating takes time by operations on lines: a few of each rank for flags, and those that move the data.
double weight(const SimulatedSettings& settings, const SimulatedPoint& point) {
  constexpr double lines_of_flags = 16;
  const double moved = static_cast<double>(measure::moved_bytes(point.work, point.ranks)) / arch::line_bytes;
  return static_cast<double>(point.rank_calls(settings)) * (lines_of_flags + moved / point.ranks);
}

}  // namespace

PointBudget::PointBudget(const SimulatedSettings& settings, const std::vector<SimulatedPoint>& points)
    : budget_s_(settings.budget_s), estimate_(settings.estimate && settings.budget_s > 0) {
  for (const SimulatedPoint& point : points) {
    titles_.push_back(point.title());
    weights_.push_back(weight(settings, point));
  }
}

void PointBudget::done(std::size_t index) {
  done_ += weights_[index];
}

bool PointBudget::over(double elapsed_s) const {
  return budget_s_ > 0 && elapsed_s >= budget_s_ && done_ > 0;
}

std::string PointBudget::estimate(double elapsed_s) {
  if (!estimate_ || done_ <= 0 || elapsed_s < estimate_after * budget_s_) return "";
  const double all_s = elapsed_s * std::accumulate(weights_.begin(), weights_.end(), 0.0) / done_;
  if (all_s <= budget_s_) return "";
  estimate_ = false;
  char text[160];
  std::snprintf(text, sizeof text, "note: all points take about %.0f s; the budget ends the run after %g s",
                all_s, budget_s_);
  return text;
}

std::string PointBudget::left_out(const std::vector<std::size_t>& indices) const {
  std::string names;
  for (std::size_t i = 0; i < indices.size() && i < most_named; ++i)
    names += (i == 0 ? "" : "; ") + titles_[indices[i]];
  if (indices.size() > most_named) names += "; and " + std::to_string(indices.size() - most_named) + " more";
  return "note: the budget is too short for " + std::to_string(indices.size()) + " of " +
         std::to_string(titles_.size()) + " points: " + names;
}

}  // namespace sim
}  // namespace phicoll
