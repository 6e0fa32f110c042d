#include "phicoll/collectives/choosing/expression.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "phicoll/errors.hpp"
#include "phicoll/support/nearest.hpp"

namespace phicoll {

namespace {

constexpr std::uint64_t most_value = std::uint64_t{1} << 47;

/// Whether a number is a size (never zero), and not a mark of what was measured.
bool is_size(const HostNumberField& field) {
  return field.least > 0 && !is_mark(field);
}

/// Reads and computes at once, from left to right.
class Evaluation {
 public:
  Evaluation(const std::string& text, const HostNumbers& host, int ranks, Expression::Round round)
      : text_(text), host_(host), ranks_(static_cast<std::uint64_t>(ranks)), round_(round) {}

  Expression::Value all() {
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
        value = (value + (round_ == Expression::Round::up ? by - 1 : 0)) / by;
      } else {
        return value;
      }
    }
  }
  std::uint64_t factor() {
    if (take('(')) {
      const std::uint64_t value = sum();
      expect(')');
      return value;
    }
    return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' ? digits() : named();
  }
  std::uint64_t digits() {
    std::uint64_t value = 0;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      value = 10 * value + static_cast<std::uint64_t>(text_[at_] - '0');
      if (value > most_value) refuse();
    }
    return value;
  }
  std::uint64_t named() {
    const std::size_t from = at_;
    while (at_ < text_.size() && ((text_[at_] >= 'a' && text_[at_] <= 'z') || text_[at_] == '-')) ++at_;
    const std::string name = text_.substr(from, at_ - from);
    if (name == "ranks") return ranks_;
    if (name == "max") {
      expect('(');
      const std::uint64_t one = sum();
      expect(',');
      const std::uint64_t other = sum();
      expect(')');
      return std::max(one, other);
    }
    std::vector<std::string> names = {"ranks"};
    for (const HostNumberField& field : host_number_fields) {
      if (!is_size(field)) continue;
      if (name == field.name) {
        if (number_ == nullptr) number_ = &field;
        return static_cast<std::uint64_t>(host_.*field.value);
      }
      names.emplace_back(field.name);
    }
    if (name.empty()) refuse();
    throw ArgumentError("number", "'" + name + "' in '" + text_ + "'", nearest_or_all(name, names));
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
    throw ArgumentError(
        "number", "'" + text_ + "'",
        "a whole number from 0 to 140737488355328, or one by the host's numbers, such as 2*cell, cell+1 or "
        "max(65536,direct/ranks)");
  }

  const std::string& text_;
  const HostNumbers& host_;
  std::uint64_t ranks_;
  Expression::Round round_;
  std::size_t at_ = 0;
  const HostNumberField* number_ = nullptr;
};

}  // namespace

Expression::Expression(const std::string& text) : text_(text) {
  of(HostNumbers(), 1, Round::up);
}

Expression::Value Expression::of(const HostNumbers& host, int ranks, Round round) const {
  return Evaluation(text_, host, ranks, round).all();
}

}  // namespace phicoll
