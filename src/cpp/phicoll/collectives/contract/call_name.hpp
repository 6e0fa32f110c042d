#pragma once

// Collective calls by the names that programs use: MPI's, in which a vector version, a scan without the rank's own
// elements and the two reduce-scatters have names of their own.

#include <cstddef>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/contract/operation.hpp"

namespace phicoll {

/// A name and the call that it means.
struct CallName {
  const char* name = "barrier";
  Operation operation = Operation::barrier;
  bool vector = false;     ///< a version with counts that differ
  bool exclusive = false;  ///< a scan without the rank's own elements

  /// What all ranks know about such a call whose count argument is `bytes`. If the ranks of a vector version do not
  /// know all counts, its `bytes` are 0. An operator is taken to commute.
  CallFacts facts(std::size_t bytes) const;
};

/// The name of a call, as in MPI except for `broadcast`. An operation without that version keeps its plain name.
const char* name_of_call(Operation operation, bool vector, bool exclusive);
/// All names, aliases included.
const std::vector<CallName>& call_names();
/// The operation's plain call (reduce_scatter_block, for reduce_scatter), or its vector version. Throws
/// ArgumentError("vector") for an operation that has none.
const CallName& call_of(Operation operation, bool vector = false);
/// The call of a name such as `gatherv` or `Gatherv`; `bcast` is `broadcast`, and reduce_scatter is MPI's, with counts.
/// Throws ArgumentError("operation") with all names.
const CallName& parse_call_name(const std::string& name);

}  // namespace phicoll
