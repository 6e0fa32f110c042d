#include "phicoll/os/text_file.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace phicoll {
namespace os {

bool read_text(const std::string& path, std::string* text) {
  text->clear();
  std::ifstream file(path.c_str(), std::ios::binary);
  if (!file) return false;
  std::ostringstream whole;
  whole << file.rdbuf();
  if (file.bad()) return false;
  *text = whole.str();
  return true;
}

std::string trimmed(const std::string& text) {
  const char* blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return std::string();
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string read_trimmed(const std::string& path) {
  std::string text;
  read_text(path, &text);
  return trimmed(text);
}

std::int64_t read_integer(const std::string& path, std::int64_t fallback) {
  const std::string text = read_trimmed(path);
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  return end == text.c_str() ? fallback : static_cast<std::int64_t>(value);
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  std::string line;
  while (std::getline(stream, line)) lines.push_back(line);
  return lines;
}

std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream stream(line);
  std::string word;
  while (stream >> word) words.push_back(word);
  return words;
}

namespace {

bool take_number(const std::string& text, std::size_t* at, int* number) {
  const std::size_t start = *at;
  long value = 0;
  while (*at < text.size() && text[*at] >= '0' && text[*at] <= '9') {
    value = value * 10 + (text[*at] - '0');
    if (value > 1000000) return false;  // no CPU, node or package has such a number
    ++*at;
  }
  *number = static_cast<int>(value);
  return *at > start;
}

}  // namespace

bool parse_list(const std::string& text, std::vector<int>* numbers) {
  numbers->clear();
  const std::string list = trimmed(text);
  if (list.empty()) return true;
  std::size_t at = 0;
  for (;;) {
    int first = 0;
    if (!take_number(list, &at, &first)) return false;
    int last = first;
    if (at < list.size() && list[at] == '-') {
      ++at;
      if (!take_number(list, &at, &last) || last < first) return false;
    }
    for (int number = first; number <= last; ++number) numbers->push_back(number);
    if (at == list.size()) return true;
    if (list[at] != ',') return false;
    ++at;
  }
}

}  // namespace os
}  // namespace phicoll
