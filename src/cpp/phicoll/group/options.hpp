#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/memory/policies.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

/// What a group is made with.
struct GroupOptions {
  WaitPolicy wait;
  /// Empty: leave the ranks where the system puts them. Else `compact`, `scatter`, `balanced` or a list of
  /// CPUs such as `0,2,4-7` (a CPU for each rank in turn, again from the front when ranks outnumber it): each
  /// rank is pinned.
  std::string placement;
  /// Bytes of shared memory that the group's collectives may take.
  std::size_t memory_limit = std::size_t{64} << 20;
  /// Bytes of shared memory for data and sub-communicators, taken from the machine as they are used; 0 for
  /// none. A machine that has less left gives half of what it has.
  std::size_t heap_limit = std::size_t{256} << 20;
  /// Whether processes may copy from and to each other's memory through the kernel, where it allows that.
  bool cross_copies = true;
  /// A single wait longer than this raises TimeoutError and breaks the group; 0 for never.
  std::int64_t timeout_ms = 0;
  /// A tuning table that `auto` asks before its rules (docs/tuning.md). Empty: the environment's
  /// PHICOLL_TUNING, if any. `none`: no table.
  std::string tuning;
  /// What to do with a table of another machine: `refuse`, or `use` it with a warning. Empty: the
  /// environment's PHICOLL_TUNING_FOREIGN, else refuse.
  std::string tuning_foreign;
  /// Measuring the host's numbers waits until a large call comes so long after the first one.
  std::int64_t calibrate_after_ms = 0;
  /// How long programs that attach wait for the group to be complete.
  std::int64_t attach_timeout_ms = 30000;
};

/// The shape of `ranks` ranks placed by `placement` on the CPUs that this process may use. Throws
/// ArgumentError for ranks outside 1..1024 and for a bad placement. With an empty placement every place is
/// unknown.
Shape shape_on_host(int ranks, const std::string& placement);

/// Throws ArgumentError("ranks") outside 1..1024.
void check_ranks(int ranks);
/// Throws ArgumentError naming the option that is out of range (`placement` is shape_on_host's to check).
void check_options(const GroupOptions& options);

/// The bytes of a new group's heap: `heap_limit`, but twice what messages between all pairs need if there are
/// more than 64 ranks; or less where this machine has less.
std::size_t heap_bytes_here(const GroupOptions& options, int ranks);

}  // namespace phicoll
