#pragma once

// The parameters of a simulated machine by name: listing, reading, setting, and the rules between them. All
// of it is derived from describe_machine.

#include <string>
#include <utility>
#include <vector>

#include "phicoll/sim/machine/machine.hpp"

namespace phicoll {
namespace sim {

/// A parameter's description.
struct MachineParameterInfo {
  std::string name;
  std::string unit;  ///< of a number; may be empty
  std::string meaning;
  int least = 0, most = 0;           ///< of a number
  std::vector<std::string> choices;  ///< of a choice; empty for a number
  bool in_directory = true;          ///< whether a machine of that protocol has it
  bool in_table = true;
  bool in_local_store = true;
  bool optional = false;  ///< a machine file may leave it out
  bool is_number() const { return choices.empty(); }
  bool used_by(Protocol protocol) const {
    return protocol == Protocol::table         ? in_table
           : protocol == Protocol::local_store ? in_local_store
                                               : in_directory;
  }
  std::string range() const;  ///< `0 to 1000 cycles`, or `off, on`
};

/// Every parameter in the order of its description.
const std::vector<MachineParameterInfo>& machine_parameters();
/// The parameter with this name, nullptr if there is none.
const MachineParameterInfo* find_machine_parameter(const std::string& name);
/// "nearest: ..." or all names, for an error about an unknown name.
std::string nearest_machine_parameter(const std::string& name);

/// The values as written in files and on the command line, in the order of description.
std::vector<std::pair<std::string, std::string>> machine_values(const MachineParameters& parameters);
/// Returns false, and changes nothing, for an unknown name or a value that is not in its range.
bool set_machine_value(MachineParameters* parameters, const std::string& name, const std::string& value);

/// A rule between parameters that is broken.
struct MachineConflict {
  std::string parameter;  ///< the one at fault; empty if no rule is broken
  std::string got, allowed;
};
MachineConflict find_machine_conflict(const MachineParameters& parameters);

/// 16 hexadecimal digits over every value in effect, whatever the order of description: 64-bit FNV-1a over
/// lines `name=value`, sorted. What a table may add, and what local stores have, counts only where it is not
/// the default.
std::string machine_digest(const MachineParameters& parameters);

}  // namespace sim
}  // namespace phicoll
