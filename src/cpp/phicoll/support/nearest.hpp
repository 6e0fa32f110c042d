#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace phicoll {

/// The edit distance: letters to insert, delete or change.
std::size_t edit_distance(const std::string& a, const std::string& b);
/// "nearest: A, B; all: A B C": the names nearest to `text` by edit distance, for an error message.
std::string nearest_or_all(const std::string& text, const std::vector<std::string>& names);
/// Only the nearest names, if there are any, where all are too many to list: "nearest: A, B".
std::string nearest_of_many(const std::string& text, const std::vector<std::string>& names);
/// The same for objects that have a `name`.
template <class Item>
std::string nearest_item(const std::string& text, const std::vector<Item>& items) {
  std::vector<std::string> names;
  for (const Item& item : items) names.push_back(item.name);
  return nearest_of_many(text, names);
}

}  // namespace phicoll
