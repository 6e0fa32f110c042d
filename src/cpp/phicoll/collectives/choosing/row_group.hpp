#pragma once

// Which calls of which groups a row of a tuning table is for. Either as it was measured, by numbers of ranks
// and CPUs: "8/2". Or by a rule: ranks, whether they share CPUs, and named conditions: "9-/own+parts".

#include <string>
#include <vector>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

/// Conditions that numbers of ranks and CPUs cannot express.
struct RowCondition {
  const char* name;
  const char* meaning;
  bool (*holds)(const Shape& shape, const CallFacts& facts);
};
const std::vector<RowCondition>& row_conditions();

struct RowGroup {
  /// How a rule names its CPUs: any, one for each rank, or shared by ranks.
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

/// The words of RowGroup::Cpus.
constexpr const char* rule_cpus_words[] = {"any", "own", "shared"};

bool operator==(const RowGroup& a, const RowGroup& b);

}  // namespace phicoll
