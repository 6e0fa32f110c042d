#pragma once

// The fields that readers of results use, and their types (docs/records.md). phicoll/results/schema.py has those of the
// Python package.

#include <string>

#include "phicoll/support/json.hpp"

namespace phicoll {
namespace measure {

/// What is wrong with a record of a results file, "no field 'launch'" or "'ns' is not a list of numbers"; "" if nothing is.
/// Unknown kinds and fields are allowed, as are fields that are null where they need not be there.
std::string record_fault(const JsonValue& record);

}  // namespace measure
}  // namespace phicoll
