#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace phicoll {

/// Letters to put in, take away or change.
std::size_t edit_distance(const std::string& a, const std::string& b);
/// "nearest: A, B; all: A B C": the names nearest to `text` by edit distance, for an error message.
std::string nearest_or_all(const std::string& text, const std::vector<std::string>& names);
/// The nearest alone where there are any, for names that are too many to list: "nearest: A, B".
std::string nearest_of_many(const std::string& text, const std::vector<std::string>& names);
/// The same of what has a `name`.
template <class Item>
std::string nearest_item(const std::string& text, const std::vector<Item>& items) {
  std::vector<std::string> names;
  for (const Item& item : items) names.push_back(item.name);
  return nearest_of_many(text, names);
}

}  // namespace phicoll
