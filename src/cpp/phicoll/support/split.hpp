#pragma once

#include <string>
#include <vector>

namespace phicoll {

/// The parts of `text` between separators, empty ones included.
inline std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (;;) {
    const std::size_t end = text.find(separator, start);
    parts.push_back(text.substr(start, end == std::string::npos ? end : end - start));
    if (end == std::string::npos) return parts;
    start = end + 1;
  }
}

/// The parts of a list separated by commas, without the blanks around each: "auto, dissemination".
inline std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts = split(text, ',');
  for (std::string& part : parts) {
    const std::size_t first = part.find_first_not_of(" \t");
    const std::size_t last = part.find_last_not_of(" \t");
    part = first == std::string::npos ? "" : part.substr(first, last - first + 1);
  }
  return parts;
}

}  // namespace phicoll
