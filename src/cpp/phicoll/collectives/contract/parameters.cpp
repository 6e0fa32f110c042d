#include "phicoll/collectives/contract/parameters.hpp"

#include <cstdlib>

#include "phicoll/errors.hpp"

namespace phicoll {

std::string ParameterInfo::range() const {
  if (choices.empty()) return std::to_string(least) + ".." + std::to_string(most);
  std::string text;
  for (const std::string& choice : choices) text += (text.empty() ? "" : ", ") + choice;
  return text;
}

void ParameterLister::integer(const char* name, int& value, int least, int most, const char* meaning) {
  ParameterInfo info;
  info.name = name;
  info.meaning = meaning;
  info.default_value = std::to_string(value);
  info.least = least;
  info.most = most;
  values.emplace_back(info.name, info.default_value);
  infos.push_back(std::move(info));
}

void ParameterLister::choice_info(const char* name, std::size_t value,
                                  std::initializer_list<const char*> names, const char* meaning) {
  ParameterInfo info;
  info.name = name;
  info.meaning = meaning;
  info.choices.assign(names.begin(), names.end());
  info.default_value = info.choices.at(value);
  values.emplace_back(info.name, info.default_value);
  infos.push_back(std::move(info));
}

ParameterValues given_values(const std::vector<std::string>& parts) {
  ParameterValues given;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    if (equals == std::string::npos || equals == 0)
      throw ArgumentError(parts[0], "'" + parts[i] + "'", "parameter=value, separated by colons");
    const std::string key = parts[i].substr(0, equals);
    for (const auto& earlier : given)
      if (earlier.first == key) throw ArgumentError(parts[0] + ":" + key, "two values", "one");
    given.emplace_back(key, parts[i].substr(equals + 1));
  }
  return given;
}

const std::string* ParameterParser::find(const char* name) {
  known_.push_back(name);
  for (const auto& item : given_)
    if (item.first == name) return &item.second;
  return nullptr;
}

void ParameterParser::integer(const char* name, int& value, int least, int most, const char*) {
  const std::string* text = find(name);
  if (text == nullptr) return;
  char* end = nullptr;
  const long number = std::strtol(text->c_str(), &end, 10);
  if (text->empty() || *end != '\0' || number < least || number > most)
    throw ArgumentError(algorithm_ + ":" + name, "'" + *text + "'",
                        "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  value = static_cast<int>(number);
}

int ParameterParser::choice_index(const char* name, std::initializer_list<const char*> names) {
  const std::string* text = find(name);
  if (text == nullptr) return -1;
  std::string allowed;
  int index = 0;
  for (const char* candidate : names) {
    if (*text == candidate) return index;
    allowed += (index == 0 ? "" : ", ") + std::string(candidate);
    ++index;
  }
  throw ArgumentError(algorithm_ + ":" + name, "'" + *text + "'", allowed);
}

void ParameterParser::refuse_unknown() const {
  for (const auto& item : given_) {
    bool found = false;
    for (const std::string& name : known_) found = found || name == item.first;
    if (found) continue;
    std::string allowed;
    for (const std::string& name : known_) allowed += name + ", ";
    throw ArgumentError(algorithm_, "parameter '" + item.first + "'", allowed + "wait");
  }
}

}  // namespace phicoll
