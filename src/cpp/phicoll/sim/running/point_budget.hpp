#pragma once

// The budget of a simulated run: which points do not fit into its seconds, and the notes on them.

#include <cstddef>
#include <string>
#include <vector>

#include "phicoll/sim/running/sim_sweep.hpp"

namespace phicoll {
namespace sim {

/// Points of a run are named by their index in `points`. Times are seconds since the run began.
class PointBudget {
 public:
  PointBudget(const SimulatedSettings& settings, const std::vector<SimulatedPoint>& points);

  /// The point is simulated.
  void done(std::size_t index);
  /// Whether the time is over. At least one point is simulated, however long it takes.
  bool over(double elapsed_s) const;
  /// A note, given once, on how long all points are likely to take, if that exceeds a default budget;
  /// otherwise "".
  std::string estimate(double elapsed_s);
  /// The points that were left out.
  std::string left_out(const std::vector<std::size_t>& indices) const;

 private:
  double budget_s_;  ///< 0: none
  bool estimate_;    ///< still to be said
  std::vector<std::string> titles_;
  std::vector<double> weights_;  ///< the time of a point is about in proportion to it
  double done_ = 0;              ///< weights of what is simulated
};

}  // namespace sim
}  // namespace phicoll
