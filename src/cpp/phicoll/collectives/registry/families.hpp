#pragma once

// One Family per operation, each made by the operation's own translation unit.

#include "phicoll/collectives/registry/family.hpp"

namespace phicoll {

/// The family of an operation, from its registry. Instantiated once an operation by cmake/operations.cmake;
/// the definition is in entries.hpp.
template <Operation operation>
const Family& family_of();

/// `auto`: without parameters and, where data moves, without memory of its own, as each call may take another
/// algorithm. A barrier's depends on the shape alone: effective and footprint are those of what it takes.
/// Defined in choosing/.
Family::Entry auto_entry(Operation operation);

}  // namespace phicoll
