#pragma once

// Numbers in the rows of a tuning table: 65536, or by the host's numbers and the ranks: 2*cell,
// max(65536,direct/ranks). Integers only, from left to right: +, *, / and max, with brackets.

#include <cstddef>
#include <string>

#include "phicoll/memory/host_numbers.hpp"

namespace phicoll {

class Expression {
 public:
  /// How divisions round: up for sizes, down for values of parameters.
  enum class Round : unsigned char { up, down };
  struct Value {
    std::size_t value = 0;
    const HostNumberField* number = nullptr;  ///< the first of the host's numbers in it, or null
  };

  Expression() = default;
  /// Throws ArgumentError("number") if the text is no expression.
  explicit Expression(const std::string& text);

  /// The value for a host and a number of ranks, at most 2^47.
  Value of(const HostNumbers& host, int ranks, Round round) const;
  /// The text as written.
  const std::string& text() const { return text_; }

 private:
  std::string text_ = "0";
};

}  // namespace phicoll
