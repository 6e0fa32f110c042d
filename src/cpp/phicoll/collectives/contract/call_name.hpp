#pragma once

// Collective calls by the names that programs use: MPI's, in which a vector version, a scan without the
// rank's own elements and the two reduce-scatters have names of their own.

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/operation.hpp"

namespace phicoll {

/// The name of a call, as in MPI except for `broadcast`. An operation without that version keeps its plain
/// name.
const char* name_of_call(Operation operation, bool vector, bool exclusive);
inline const char* name_of_call(const CallFacts& facts) {
  return name_of_call(facts.operation, facts.vector, facts.exclusive);
}
/// All names, aliases included, each with the facts of such a call of no bytes.
const std::vector<std::pair<const char*, CallFacts>>& call_names();
/// The facts of the operation's plain call, or of its vector version, with a count argument of `bytes`; 0
/// bytes where not all ranks know all counts. Assumes an operator that commutes. Throws
/// ArgumentError("vector") for an operation without a vector version.
CallFacts call_of(Operation operation, bool vector = false, std::size_t bytes = 0);
/// The facts of the call that a name such as `gatherv` or `Gatherv` stands for; `bcast` is `broadcast`, and
/// reduce_scatter is MPI's, with counts. Throws ArgumentError("operation") with all names.
CallFacts parse_call_name(const std::string& name, std::size_t bytes = 0);

}  // namespace phicoll
