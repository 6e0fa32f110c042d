#pragma once

#include <string>
#include <vector>

namespace phicoll {

/// "nearest: A, B; all: A B C": the names nearest to `text` by edit distance, for an error message.
std::string nearest_or_all(const std::string& text, const std::vector<std::string>& names);

}  // namespace phicoll
