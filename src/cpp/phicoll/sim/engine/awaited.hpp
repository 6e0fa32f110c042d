#pragma once

// What a simulated or counted rank waits for: a condition on a word, or on bytes of a line, as data.

#include <cstdint>
#include <cstring>
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
  std::uint64_t seen() const {
    if (bytes == 8) return word<std::uint64_t>();
    return bytes == 4 ? word<std::uint32_t>() : bytes == 2 ? word<std::uint16_t>() : word<std::uint8_t>();
  }
  /// Whether the wait is over.
  bool holds() const {
    if (bytes == 8) return Condition<std::uint64_t>{kind, value, mask}(word<std::uint64_t>());
    return smaller_holds();
  }
  /// For a report of ranks that wait for ever: ", which is 2, to reach 3".
  std::string text() const;

 private:
  template <class T>
  T word() const {
    T value_there;
    std::memcpy(&value_there, place, sizeof(T));
    return value_there;
  }
  bool smaller_holds() const;
};

}  // namespace phicoll
