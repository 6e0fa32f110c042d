#include "bench/command_line.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "phicoll/errors.hpp"
#include "phicoll/support/json.hpp"
#include "phicoll/support/nearest.hpp"
#include "phicoll/support/split.hpp"

namespace phicoll {
namespace bench {

namespace {

// The name that errors use: "window-calls", "output".
std::string bare_name(const OptionInfo& option) {
  const std::string& name = option.also.empty() ? option.name : option.also;
  return name.substr(name.find_first_not_of('-'));
}

std::string bare_name(const std::string& name) {
  return name.substr(name.find_first_not_of('-'));
}

}  // namespace

CommandLine::CommandLine(const std::vector<std::string>& words, const CommandPage& page) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word[0] != '-') {
      alone_.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto found = std::find_if(page.options.begin(), page.options.end(), [&](const OptionInfo& option) {
      return option.name == name || option.also == name;
    });
    if (found == page.options.end()) {
      std::vector<std::string> known;
      for (const OptionInfo& option : page.options)
        known.push_back(option.also.empty() ? option.name : option.also);
      throw ArgumentError("option", "'" + name + "'",
                          known.empty() ? page.name + " takes none" : nearest_or_all(name, known));
    }
    long_names_[found->name] = bare_name(*found);
    if (found->value.empty()) {
      if (equals != std::string::npos)
        throw ArgumentError(bare_name(*found), "a value", "none: it is a flag");
      values_[found->name] = "";
      continue;
    }
    if (values_.count(found->name) != 0) throw ArgumentError(bare_name(*found), "two values", "one");
    if (equals != std::string::npos) {
      values_[found->name] = word.substr(equals + 1);
    } else {
      if (i + 1 == words.size()) throw ArgumentError(bare_name(*found), "no value", "one");
      values_[found->name] = words[++i];
    }
  }
}

std::map<std::string, std::string> CommandLine::given() const {
  std::map<std::string, std::string> found;
  for (const auto& one : values_) found[long_names_.at(one.first)] = one.second;
  return found;
}

std::string CommandLine::text(const std::string& name, const std::string& otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : found->second;
}

std::int64_t CommandLine::integer(const std::string& name, std::int64_t otherwise, std::int64_t least,
                                  std::int64_t most) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return otherwise;
  char* end = nullptr;
  const long long value = std::strtoll(found->second.c_str(), &end, 10);
  if (found->second.empty() || *end != 0 || value < least || value > most)
    throw ArgumentError(long_names_.at(name), "'" + found->second + "'",
                        "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

double CommandLine::number(const std::string& name, double otherwise, double least) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return otherwise;
  char* end = nullptr;
  const double value = std::strtod(found->second.c_str(), &end);
  if (found->second.empty() || *end != 0 || !std::isfinite(value) || value < least)
    throw ArgumentError(long_names_.at(name), "'" + found->second + "'",
                        "a number of at least " + json_number(least));
  return value;
}

std::vector<std::string> CommandLine::choices(const std::string& name, const std::string& otherwise,
                                              const std::vector<std::string>& allowed) const {
  std::string all;
  for (const std::string& one : allowed) all += (all.empty() ? "" : ", ") + one;
  std::vector<std::string> chosen;
  for (const std::string& part : split_list(text(name, otherwise))) {
    if (std::find(allowed.begin(), allowed.end(), part) == allowed.end())
      throw ArgumentError(bare_name(name), "'" + part + "'", all + ", separated by commas");
    if (std::find(chosen.begin(), chosen.end(), part) == chosen.end()) chosen.push_back(part);
  }
  return chosen;
}

void CommandLine::refuse(const std::vector<std::string>& names, const std::string& allowed) const {
  for (const std::string& name : names)
    if (has(name)) throw ArgumentError(bare_name(name), "'" + text(name, "") + "'", allowed);
}

}  // namespace bench
}  // namespace phicoll
