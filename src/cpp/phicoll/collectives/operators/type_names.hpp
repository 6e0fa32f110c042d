#pragma once

// The names of element types that a caller numbers himself.

#include <string>

namespace phicoll {

/// What type_name gives for `number` in this process from now on.
void name_type(unsigned number, const std::string& name);

}  // namespace phicoll
