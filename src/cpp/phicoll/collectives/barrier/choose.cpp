#include "phicoll/collectives/barrier/barrier.hpp"

namespace phicoll {

BarrierChoice choose_barrier(const Shape& shape) {
  if (shape.size() == 2)
    return {parse_barrier("dissemination"), "two ranks: each tells the other, one transfer deep"};
  return {parse_barrier("dissemination"), "fewest rounds among barriers without a hot spot"};
}

}  // namespace phicoll
