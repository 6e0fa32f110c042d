#pragma once

// The fields that readers of results use, their types and ranges (docs/records.md).
// phicoll/results/reading/schema.py has those of the Python package.

#include <string>

#include "phicoll/support/json.hpp"

namespace phicoll {
namespace measure {

/// What is wrong with a record of a results file, "no field 'launch'" or "'calls' is not a whole number from
/// 1 on"; "" if nothing is. Unknown kinds and fields are allowed.
std::string record_fault(const JsonValue& record);

}  // namespace measure
}  // namespace phicoll
