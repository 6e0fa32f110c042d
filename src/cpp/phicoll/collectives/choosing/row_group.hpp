#pragma once

// Which calls of which groups a row of a tuning table is for. Either as it was measured, by numbers of ranks
// and CPUs: "8/2". Or by a rule: ranks, whether they share CPUs, and named conditions: "9-/own+parts".

#include <string>
#include <vector>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

/// What no number of ranks or CPUs says.
struct RowCondition {
  const char* name;
  const char* meaning;
  bool (*holds)(const Shape& shape, const CallFacts& facts);
};
const std::vector<RowCondition>& row_conditions();

struct RowGroup {
  /// The forms of the CPUs of a rule: whatever they are, a CPU for each rank, CPUs that ranks share.
  enum class Cpus : unsigned char { any, own, shared };

  int least = 1;  ///< ranks
  int most = 1;
  int cpus = 0;  ///< as measured; 0: by a rule
  Cpus sharing = Cpus::any;
  std::vector<const RowCondition*> conditions = {};

  /// Throws ArgumentError("ranks/CPUs").
  static RowGroup parse(const std::string& text);
  std::string text() const;

  bool by_rule() const { return cpus == 0; }
  /// Of a rule: whether it is for such a call.
  bool serves(const Shape& shape, const CallFacts& facts) const;
};

bool operator==(const RowGroup& a, const RowGroup& b);

}  // namespace phicoll
