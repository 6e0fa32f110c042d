#pragma once

// Numbers in the rows of a tuning table: 65536, or by the host's numbers and the ranks: 2*cell,
// max(65536,direct/ranks). Integers only, from left to right: +, *, / and max, with brackets.

#include <cstddef>
#include <string>

#include "phicoll/memory/host_numbers.hpp"

namespace phicoll {

/// How divisions round: up for sizes, down for values of parameters.
enum class Round : unsigned char { up, down };

struct Computed {
  std::size_t value = 0;                    ///< at most 2^47
  const HostNumberField* number = nullptr;  ///< the first of the host's numbers in it, or null
};

/// An expression's value for a host and a number of ranks. Throws ArgumentError("number") if the text is
/// none.
Computed computed(const std::string& expression, const HostNumbers& host, int ranks, Round round);

}  // namespace phicoll
