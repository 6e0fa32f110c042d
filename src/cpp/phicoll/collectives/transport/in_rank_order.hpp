#pragma once

// Combining what all ranks have, each rank's after those before it.

#include "phicoll/memory/data.hpp"

namespace phicoll {

/// Combines the operands of ranks 0 to `ranks` - 1, in this order, into `result`. operand(r) waits for rank
/// r's. Returns where the outcome lies: of one rank, its operand.
template <class Port, class Operand>
[[gnu::always_inline]] inline Data combine_in_rank_order(Port& port, const Operator& op, int ranks,
                                                         Data result, std::size_t count,
                                                         const Operand& operand) {
  Data left = operand(0);
  for (int r = 1; r < ranks; ++r) {
    port.combine(op, result, left, operand(r), count);
    left = result;
  }
  return left;
}

}  // namespace phicoll
