#pragma once

// What lines cost on the machine that a group runs on, for the algorithms that a model designs. Integers
// only: the card's part of the library has no floating point, and every rank must come to the same design.

#include <cstdint>

namespace phicoll {

/// In tenths of a nanosecond. The defaults are those of ramos-hoefler-2013 for the Xeon Phi 5110P: Table 1.5b
/// and, both buffers exclusive, c of Table 3.2 and o of Table 3.1.
struct LineCosts {
  std::int64_t local = 86;          ///< R_L: a line in the own core's cache
  std::int64_t remote = 2358;       ///< R_R: in another core's
  std::int64_t memory = 2777;       ///< R_I: in none
  std::int64_t contention = 562;    ///< c: for each rank more that reads a line at the same time
  std::int64_t further_line = 760;  ///< o: for each line more of one transfer
};

/// A cost by the name that it has wherever costs are written.
struct LineCostField {
  const char* name;
  std::int64_t LineCosts::*value;
};
constexpr LineCostField line_cost_fields[] = {{"local", &LineCosts::local},
                                              {"remote", &LineCosts::remote},
                                              {"memory", &LineCosts::memory},
                                              {"contention", &LineCosts::contention},
                                              {"further_line", &LineCosts::further_line}};

inline bool operator==(const LineCosts& a, const LineCosts& b) {
  for (const LineCostField& field : line_cost_fields)
    if (a.*field.value != b.*field.value) return false;
  return true;
}
inline bool operator!=(const LineCosts& a, const LineCosts& b) {
  return !(a == b);
}

/// A cost may not be larger than this, 100 microseconds: sums over the levels of any tree stay far from the
/// end of 64 bits.
constexpr std::int64_t most_line_cost = 1000000;

}  // namespace phicoll
