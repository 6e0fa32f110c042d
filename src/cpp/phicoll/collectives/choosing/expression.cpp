#include "phicoll/collectives/choosing/expression.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/support/digits.hpp"
#include "phicoll/support/nearest.hpp"

namespace phicoll {

namespace {

constexpr std::uint64_t most_value = std::uint64_t{1} << 47;
constexpr std::size_t most_letters = 250;  // so that brackets within brackets do not fill the stack
constexpr const char* ranks_word = "ranks";

/// Reads and computes at once, from left to right.
class Evaluation {
 public:
  Evaluation(const std::string& text, const HostNumbers& host, int ranks, Round round)
      : text_(text), host_(host), ranks_(static_cast<std::uint64_t>(ranks)), round_(round) {}

  Computed all() {
    if (text_.size() > most_letters)
      refuse(std::to_string(text_.size()) + " letters", std::to_string(most_letters));
    const std::uint64_t value = sum();
    if (at_ != text_.size()) refuse();
    return {static_cast<std::size_t>(value), number_};
  }

 private:
  std::uint64_t sum() {
    std::uint64_t value = product();
    while (take('+')) value = std::min(most_value, value + product());
    return value;
  }
  std::uint64_t product() {
    std::uint64_t value = factor();
    for (;;) {
      if (take('*')) {
        const std::uint64_t by = factor();
        value = by != 0 && value > most_value / by ? most_value : value * by;
      } else if (take('/')) {
        const std::uint64_t by = std::max<std::uint64_t>(1, factor());
        value = (value + (round_ == Round::up ? by - 1 : 0)) / by;
      } else {
        return value;
      }
    }
  }
  std::uint64_t factor() {
    const std::size_t from = at_;
    while (at_ < text_.size() && std::strchr("+*/(,)", text_[at_]) == nullptr) ++at_;
    const std::string word = text_.substr(from, at_ - from);
    if (word.empty() || word == "max") return bracketed(!word.empty());
    if (word == ranks_word) return ranks_;
    const long long digits = whole_number(word, most_value);
    return digits >= 0 ? static_cast<std::uint64_t>(digits) : named(word);
  }
  /// "(sum)", or of max "(sum,sum)".
  std::uint64_t bracketed(bool two) {
    expect('(');
    std::uint64_t value = sum();
    if (two) {
      expect(',');
      value = std::max(value, sum());
    }
    expect(')');
    return value;
  }
  std::uint64_t named(const std::string& name) {
    const auto is_size = [](const HostNumberField& field) { return field.least > 0; };
    for (const HostNumberField& field : host_number_fields)
      if (is_size(field) && name == field.name) {
        if (number_ == nullptr) number_ = &field;
        return static_cast<std::uint64_t>(host_.*field.value);
      }
    if (name[0] >= '0' && name[0] <= '9') refuse();
    std::vector<std::string> names = {ranks_word};
    for (const HostNumberField& field : host_number_fields)
      if (is_size(field)) names.emplace_back(field.name);
    refuse("'" + name + "' in '" + text_ + "'", nearest_or_all(name, names));
  }
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) refuse();
  }
  [[noreturn]] void refuse() const {
    refuse(
        "'" + text_ + "'",
        "a whole number from 0 to 140737488355328, or one by the host's numbers, such as 2*cell, cell+1 or "
        "max(65536,direct/ranks)");
  }
  [[noreturn]] static void refuse(const std::string& got, const std::string& allowed) {
    throw ArgumentError("number", got, allowed);
  }

  const std::string& text_;
  const HostNumbers& host_;
  std::uint64_t ranks_;
  Round round_;
  std::size_t at_ = 0;
  const HostNumberField* number_ = nullptr;
};

}  // namespace

Computed computed(const std::string& expression, const HostNumbers& host, int ranks, Round round) {
  return Evaluation(expression, host, ranks, round).all();
}

}  // namespace phicoll
