#pragma once

// The names of element types that a caller numbers.

#include <string>

namespace phicoll {

/// Sets what type_name returns for `number` in this process.
void name_type(unsigned number, const std::string& name);

}  // namespace phicoll
