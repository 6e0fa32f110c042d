#pragma once

// What the units of the operations give and use: one family an operation.

#include "phicoll/collectives/registry/family.hpp"

namespace phicoll {

/// The family of an operation, from its registry. Instantiated once an operation by cmake/operations.cmake; the
/// definition is in entries.hpp.
template <Operation operation>
const Family& family_of();

/// `auto`: without parameters and without memory of its own. automatic.hpp says which algorithm it takes.
Family::Entry auto_entry();

}  // namespace phicoll
