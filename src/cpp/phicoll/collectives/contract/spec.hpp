#pragma once

// An algorithm by name with its parameters: `name:parameter=value:...:wait=policy`, for example
// `dissemination:ways=3`.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/memory/policies.hpp"

namespace phicoll {

struct AlgorithmInfo {
  std::string name;
  Origin origin;
  std::string source;
  std::string summary;
  std::vector<ParameterInfo> parameters;  ///< all but `wait`, which every algorithm takes
};

/// The name that leaves the choice to tuning tables and rules.
constexpr const char* auto_name = "auto";

/// An algorithm with a value for each of its parameters.
struct AlgorithmSpec {
  std::string name;
  ParameterValues values;  ///< all parameters, in the order of description
  bool has_wait = false;   ///< false: the group's policy holds
  WaitPolicy wait;

  bool is_auto() const { return name == auto_name; }
  /// Adopts the wait policy of `asked`, in whose place this algorithm was chosen, if it names one.
  void wait_as(const AlgorithmSpec& asked) {
    if (!asked.has_wait) return;
    has_wait = true;
    wait = asked.wait;
  }
  /// The canonical text: all parameters, and `wait` if given.
  std::string text() const;
};

inline bool operator==(const AlgorithmSpec& a, const AlgorithmSpec& b) {
  return a.name == b.name && a.values == b.values && a.has_wait == b.has_wait &&
         (!a.has_wait || a.wait == b.wait);
}

/// Adds a spec unless it is already there.
void add_once(std::vector<AlgorithmSpec>& specs, AlgorithmSpec spec);

/// What `auto` takes, and why in a sentence.
struct AlgorithmChoice {
  AlgorithmSpec spec;
  std::string why;
  std::size_t least = 0;        ///< the fewest bytes for which the choice holds
  std::size_t most = SIZE_MAX;  ///< the most bytes for which it holds
  std::string given{};          ///< the spec as written in a tuning table; empty if the built-in rules chose
  int line = 0;                 ///< of the built-in rules, defaults.tuning; 0 if they did not choose
  std::string numbers{};        ///< the host's numbers where it begins and ends, "rotate=24576, wide=131072"
};

/// A name for several algorithms: what a paper tested.
struct AlgorithmSet {
  std::string name;                  ///< by the paper's number, `paper-001`
  std::string key;                   ///< by author and year, `rodchenko-2015`
  std::vector<std::string> members;  ///< specs
};

}  // namespace phicoll
