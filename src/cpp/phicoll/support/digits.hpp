#pragma once

#include <string>

namespace phicoll {

/// The number in a text of at most 18 digits; -1 if it is something else, or more than `most`.
inline long long whole_number(const std::string& text, long long most) {
  if (text.empty() || text.size() > 18) return -1;
  long long value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return -1;
    value = value * 10 + (c - '0');
  }
  return value <= most ? value : -1;
}

}  // namespace phicoll
