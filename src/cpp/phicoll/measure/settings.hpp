#pragma once

// The settings of a sweep on this machine. The defaults are those of the table of options.

#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/measure/subjects.hpp"
#include "phicoll/measure/sweep_options.hpp"

namespace phicoll {
namespace measure {

struct Settings {
  std::vector<Subject> subjects;  ///< of one operation
  std::vector<int> ranks;
  std::vector<std::string> modes{"threads"};  ///< threads, processes
  std::vector<std::string> definitions{"loop", "window"};
  int launches = native_integer("launches");
  int rounds = native_integer("rounds");  ///< in each launch, for each number of ranks
  int calls = 0;                          ///< of a loop; 0: as many as take about 0.25 ms, 16 to 8000
  int window_calls = native_integer("window-calls");
  double cap_ns =
      50e6;             ///< no sample takes longer than about this: fewer calls are made and recorded as such
  double budget_s = 0;  ///< 0: none
  bool estimate = false;    ///< say, after the first round, how long all take
  double target_width = 0;  ///< relative width of every point's interval at which to stop; 0: none
  std::string placement = native_text("placement");
  bool oversubscribe = false;
  double delay_ns = 0;
  double imbalance_ns = 0;
  std::uint64_t seed = 1;
  std::string start = native_text("start");  ///< or evicted: windows only
  std::string wait = native_text("wait");
  std::string numbers;  ///< digest of the host's numbers where they were measured; empty: the defaults
  std::string tuning;   ///< path and digest of the tuning table that `auto` asks; empty: none
  bool progress = false;
  std::string output = "-";
  bool resume = false;

  /// The record's `settings`.
  std::string json() const;
};

/// The settings of the options given, without the tuning table and, unless given, the seed. Throws
/// ArgumentError.
Settings parse_settings(const SweepValues& values);

/// A list of rank counts such as `2,4,8..32:8` (8, 16, 24, 32). Throws ArgumentError("ranks").
std::vector<int> parse_ranks(const std::string& text);

/// Throws ArgumentError("start") unless `start` is `warm`, or `evicted` with windows alone.
void check_start(const std::string& start, const std::vector<std::string>& definitions);

/// The same rule for one definition: back-to-back calls leave no time to evict.
void check_evicted(bool evicted, bool windows);

/// Throws ArgumentError if the sweep can't run here: more ranks than allowed CPUs without `oversubscribe`, a
/// bad placement, or no subject that applies.
void check_settings(const Settings& settings);

/// Allows buffers half of a group's heap, since buffers of several sizes follow each other in it. Throws
/// ArgumentError.
void check_heap(const Work& work, int ranks);

}  // namespace measure
}  // namespace phicoll
