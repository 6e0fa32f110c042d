#include "bench/arguments.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "phicoll/collectives/nearest.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/measure/json.hpp"

namespace phicoll {
namespace bench {

Arguments::Arguments(const std::vector<std::string>& words, const std::vector<std::string>& options,
                     const std::vector<std::string>& flags) {
  const auto among = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word[0] != '-') {
      alone_.push_back(word);
      continue;
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (among(flags, name)) {
      if (equals != std::string::npos) throw ArgumentError(name, "a value", "none: it is a flag");
      values_[name] = "";
    } else if (among(options, name)) {
      if (values_.count(name) != 0) throw ArgumentError(name, "two values", "one");
      if (equals != std::string::npos) {
        values_[name] = word.substr(equals + 1);
      } else {
        if (i + 1 == words.size()) throw ArgumentError(name, "no value", "one");
        values_[name] = words[++i];
      }
    } else {
      std::vector<std::string> known = options;
      known.insert(known.end(), flags.begin(), flags.end());
      throw ArgumentError("option", "'" + name + "'", nearest_or_all(name, known));
    }
  }
}

std::string Arguments::text(const std::string& name, const std::string& otherwise) const {
  const auto found = values_.find(name);
  return found == values_.end() ? otherwise : found->second;
}

std::int64_t Arguments::integer(const std::string& name, std::int64_t otherwise, std::int64_t least,
                                std::int64_t most) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return otherwise;
  char* end = nullptr;
  const long long value = std::strtoll(found->second.c_str(), &end, 10);
  if (found->second.empty() || *end != 0 || value < least || value > most)
    throw ArgumentError(name, "'" + found->second + "'",
                        "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return value;
}

double Arguments::number(const std::string& name, double otherwise, double least) const {
  const auto found = values_.find(name);
  if (found == values_.end()) return otherwise;
  char* end = nullptr;
  const double value = std::strtod(found->second.c_str(), &end);
  if (found->second.empty() || *end != 0 || !std::isfinite(value) || value < least)
    throw ArgumentError(name, "'" + found->second + "'",
                        "a number of at least " + measure::json_number(least));
  return value;
}

}  // namespace bench
}  // namespace phicoll
