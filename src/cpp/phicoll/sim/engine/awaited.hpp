#pragma once

// What a simulated or counted rank waits for: a condition on a word, or on bytes of a line, as data.

#include <cstdint>
#include <string>

#include "phicoll/memory/condition.hpp"

namespace phicoll {

struct Awaited {
  const void* place;
  std::uint64_t value;
  std::uint64_t mask;
  int from;  ///< the rank that will signal, any_rank for unknown
  unsigned bytes;
  ConditionKind kind;
  bool whole_line;  ///< every byte that `mask` names is to equal `value`

  /// The word that lies there now.
  std::uint64_t seen() const;
  /// Whether the wait is over.
  bool holds() const;
  /// For a report of ranks that wait for ever: ", which is 2, to reach 3".
  std::string text() const;
};

}  // namespace phicoll
