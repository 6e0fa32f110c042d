#pragma once

// The references that phicoll-bench adds to those of libphicoll. They need a newer C++ than the rest and are
// left out where the compiler lacks it (the card's).

#include <vector>

#include "phicoll/measure/rank_worker.hpp"
#if defined(PHICOLL_HAVE_STD_BARRIER)
#include "bench/std_barrier.hpp"
#endif

namespace phicoll {
namespace bench {

inline std::vector<measure::ExtraReference> extra_references() {
#if defined(PHICOLL_HAVE_STD_BARRIER)
  return {std_barrier_reference()};
#else
  return {};
#endif
}

}  // namespace bench
}  // namespace phicoll
