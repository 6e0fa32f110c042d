#pragma once

// What-if machines: `xeon-phi-5110p:directory.service=0:ring.hop=0` is that machine with two parameters
// changed.

#include <string>
#include <utility>
#include <vector>

#include "phicoll/sim/machine/machine.hpp"

namespace phicoll {
namespace sim {

struct MachineText {
  std::string base;  ///< a shipped machine's name, or a path
  bool is_path = false;
  std::vector<std::pair<std::string, std::string>> changes;
};

/// Splits the text into a base and its changes. A path, which has a slash or ends in `.json`, may contain
/// colons before that end. Throws ArgumentError("machine") for a change that is not `parameter=value`, or the
/// same parameter twice.
MachineText split_machine_text(const std::string& text);

/// Sets parameters; the name, the evidence (kind `changed`, with what it was) and the digest follow. Throws
/// ArgumentError("machine"): an unknown parameter (with the nearest), that the machine's protocol
/// does not use, a value out of range, values that do not go together.
void change_machine(Machine* machine, const std::vector<std::pair<std::string, std::string>>& changes);

}  // namespace sim
}  // namespace phicoll
