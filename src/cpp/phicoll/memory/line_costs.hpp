#pragma once

// What lines cost on the machine that a group runs on, for the algorithms that a model designs. Integers
// only: the card's part of the library has no floating point, and every rank must arrive at the same design.

#include <cstdint>

namespace phicoll {

/// Costs in tenths of a nanosecond. The defaults are those of ramos-hoefler-2013 for the Xeon Phi 5110P:
/// Table 1.5b and, with both buffers exclusive, c of Table 3.2 and o of Table 3.1.
struct LineCosts {
  std::int64_t local = 86;          ///< R_L: a line in the reader's own cache
  std::int64_t remote = 2358;       ///< R_R: a line in another core's cache
  std::int64_t memory = 2777;       ///< R_I: a line in no cache
  std::int64_t contention = 562;    ///< c: per additional rank that reads a line at the same time
  std::int64_t further_line = 760;  ///< o: per additional line of one transfer
};

/// The largest cost allowed, 100 microseconds: sums over the levels of any tree stay far below the limit of
/// 64 bits.
constexpr std::int64_t most_line_cost = 1000000;

/// A cost with its name, as written in files.
struct LineCostField {
  const char* name;
  std::int64_t LineCosts::*value;
  std::int64_t least = 0;
  std::int64_t most = most_line_cost;
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

}  // namespace phicoll
