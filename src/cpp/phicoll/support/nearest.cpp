#include "phicoll/support/nearest.hpp"

#include <algorithm>
#include <cctype>

namespace phicoll {

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

namespace {

// Whether `name` begins with `text` once all but letters and digits are left out: "xeonphi", xeon-phi-5110p.
bool begins(const std::string& name, const std::string& text) {
  const auto bare = [](const std::string& full) {
    std::string kept;
    for (const char c : full)
      if (std::isalnum(static_cast<unsigned char>(c)) != 0)
        kept += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return kept;
  };
  const std::string wanted = bare(text);
  return wanted.size() >= 3 && bare(name).compare(0, wanted.size(), wanted) == 0;
}

}  // namespace

std::string nearest_or_all(const std::string& text, const std::vector<std::string>& names) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  std::vector<std::string> all;  // each once: a set may have the name of its one algorithm
  for (const std::string& name : names) {
    if (std::find(all.begin(), all.end(), name) != all.end()) continue;
    all.push_back(name);
    ranked.emplace_back(begins(name, text) ? 0 : edit_distance(text, name), name);
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string result;
  for (const auto& candidate : ranked)
    // Near: few changes, and not every character of the text among them.
    if (candidate.first < text.size() && (candidate.first <= 3 || candidate.first * 2 <= text.size()))
      result += (result.empty() ? "nearest: " : ", ") + candidate.second;
  if (!result.empty()) result += "; ";
  result += "all:";
  for (const std::string& name : all) result += " " + name;
  return result;
}

std::string nearest_of_many(const std::string& text, const std::vector<std::string>& names) {
  const std::string found = nearest_or_all(text, names);
  return found.substr(0, found.find("; all:"));
}

}  // namespace phicoll
