#pragma once

// A simulated run, divided into points that can be simulated one by one, anywhere and in any order.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/measure/records.hpp"
#include "phicoll/measure/sweep_options.hpp"
#include "phicoll/measure/work.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/sim/machine/machine.hpp"
#include "phicoll/support/json.hpp"

namespace phicoll {
namespace sim {

/// Outer iterations of a program that are simulated where none are asked for: what `calls` and `warm-up` are.
constexpr int program_calls = 2;
constexpr int program_warm_up = 1;

struct SimulatedSettings {
  Machine machine;
  std::vector<AlgorithmSpec> algorithms;  ///< of one operation
  /// What each is called with: one operation, its sizes, fresh or reused buffers.
  std::vector<measure::Work> works{measure::Work()};
  std::vector<int> ranks;
  std::string placement =
      measure::simulated_text("placement");  ///< or compact, scatter, a list of contexts such as 0,4,8-11
  std::vector<std::string> definitions{measure::simulated_text("definition")};
  int calls = measure::simulated_integer("calls");
  int warm_up = measure::simulated_integer("warm-up");
  int rounds = measure::simulated_integer("rounds");  ///< each another seed
  /// Ranks start, and enter the calls of a window, within this time of each other.
  double skew_ns = measure::simulated_number("skew-ns");
  double delay_ns = measure::simulated_number("delay-ns");  ///< before each call of a loop
  std::string wait = measure::simulated_text("wait");
  std::uint64_t seed = static_cast<std::uint64_t>(measure::simulated_integer("seed"));
  std::string start = measure::simulated_text(
      "start");          ///< or evicted: flags and slots in memory alone before each call; windows only
  double budget_s = 0;   ///< 0: none
  bool estimate = true;  ///< the budget is the default: say if it is too short
  std::shared_ptr<const Tuning> tuning;  ///< what `auto` asks; null: its rules

  /// The record's `settings`.
  std::string json() const;
};

/// What was asked for. References have no simulated form: a set leaves them out, and `left_out` becomes true.
/// Throws ArgumentError.
SimulatedSettings parse_simulated_settings(const measure::SweepValues& values, bool* left_out);

/// Every size with every kind of buffers ("fresh", "reused"); a barrier has neither. Throws ArgumentError as
/// measure::check_work, and ("size") where there is none.
std::vector<measure::Work> simulated_works(measure::Work work, const std::vector<std::uint64_t>& sizes,
                                           const std::vector<std::string>& buffers, const std::string& type,
                                           const std::string& op);

/// The tuning table that the environment has for a simulated machine; null: none. Throws as load_tuning.
std::shared_ptr<const Tuning> tuning_of(const Machine& machine);

/// Ranks on a machine's contexts. Throws ArgumentError: more ranks than contexts, a bad placement.
Shape place_on_machine(const Machine& machine, int ranks, const std::string& placement,
                       const std::shared_ptr<const Tuning>& tuning = nullptr);

/// The seed of a round, of 53 bits: what the round's Simulation gets.
std::uint64_t round_seed(std::uint64_t seed, int round);

/// One round under one definition: one simulation.
struct SimulatedStep {
  int round = 0;
  std::string definition;
};

/// One algorithm with one number of ranks, called with one kind of work.
struct SimulatedPoint {
  int number = 0;
  AlgorithmSpec spec;
  measure::Work work;
  int ranks = 0;
  std::vector<SimulatedStep> steps;

  /// For messages: "allreduce 4096 fresh float32 sum by ring with 240 ranks".
  std::string title() const;
  /// How many calls its ranks make.
  std::int64_t rank_calls(const SimulatedSettings& settings) const;
};

/// Every point of a run, by ranks, then work, then algorithms. Of several algorithms those that cannot serve
/// the work are left out. Throws ArgumentError for what cannot be simulated.
std::vector<SimulatedPoint> plan_points(const SimulatedSettings& settings);

/// What earlier parts of a resumed run hold.
struct EarlierPoints {
  int points = 0;
  std::int64_t samples = 0;
  bool unverified = false;
  double elapsed_s = 0;
};
/// Takes from `points` what `records` have of `run`.
EarlierPoints drop_done(std::vector<SimulatedPoint>* points, const std::vector<JsonValue>& records,
                        const std::string& run);

/// What all points of a run need, and one of its points: each a line of JSON that can be sent to another
/// process or host.
std::string task_text(const SimulatedSettings& settings, const std::string& run);
std::string task_text(const SimulatedPoint& point);

struct SimulatedTask {
  SimulatedSettings settings;  ///< without algorithms, works, ranks, definitions and rounds
  std::string run;
};
/// Throw Error for what task_text did not make.
SimulatedTask parse_task(const std::string& text);
SimulatedPoint parse_point(const std::string& text);

/// The fields of the run's context record: the host's facts and the machine's, with all its parameters.
JsonObject simulated_context(const SimulatedSettings& settings, const std::vector<std::string>& command,
                             const measure::BuildInfo& build);

}  // namespace sim
}  // namespace phicoll
