#pragma once

// Machine files: JSON with one line per parameter, to be read, edited and compared (docs/machines.md).
//     {"phicoll": "machine", "name": "...", "summary": "...",
//      "host": {"cpu": "...", "allowed_cpus": 2, "clock_mhz": 2100},
//      "model": {"line.local": {"value": 8.6, "unit": "ns", "kind": "published", "source": "..."}, ...},
//      "parameters": {"ring.hop": {"value": 2, "kind": "calibrated", "source": "..."}, ...}}
// `host` and `model` may be left out.

#include <string>

#include "phicoll/sim/machine/machine.hpp"

namespace phicoll {
namespace sim {

/// Whether `name` can name a machine: not empty, no blanks, commas, colons or slashes.
bool is_machine_name(const std::string& name);

/// The machine that `text` describes. `file` names it in messages. Throws ArgumentError("machine") with file,
/// line and field: what is not JSON, a field that is missing, unknown, there twice, of the wrong type or out
/// of range, an unknown kind, values that do not go together.
Machine parse_machine_file(const std::string& text, const std::string& file);

/// The file of a machine: what parse_machine_file takes, ending with a new line. Parameters that the
/// machine's protocol does not use, and those that may be left out and have no evidence, are left out.
std::string machine_file_text(const Machine& machine);

}  // namespace sim
}  // namespace phicoll
