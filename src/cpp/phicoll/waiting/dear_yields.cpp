#include "phicoll/waiting/dear_yields.hpp"

#include <algorithm>

namespace phicoll {

namespace {

// A yield of more than long_ns is long. Yields are dear once two long ones in a row each took more than
// worth_ns for every noted wait since the long one before. A sleep and a wake take about that where CPUs are
// busy. Waits then do not yield for fewest_times the length of that yield at first, and for most_times at
// most.
constexpr std::int64_t long_ns = 500 * 1000, worth_ns = 50 * 1000;
constexpr unsigned fewest_times = 8, most_times = 512;

}  // namespace

DearYields::Way DearYields::way(std::int64_t now_ns, bool first) {
  std::int64_t until = until_ns_.load(std::memory_order_relaxed);
  if (until == 0) {
    const unsigned waits = waits_.load(std::memory_order_relaxed);
    if (first) waits_.store(waits + 1 < 2 * many ? waits + 1 : many, std::memory_order_relaxed);
    return Way::yields;
  }
  if (now_ns < until) return Way::without;
  // The first one tries, the others do without until it knows.
  const std::int64_t then = now_ns + long_ns * fewest_times;
  return until_ns_.compare_exchange_strong(until, then, std::memory_order_relaxed) ? Way::tries
                                                                                   : Way::without;
}

bool DearYields::note(Way way, std::int64_t began_ns, std::int64_t now_ns) {
  const std::int64_t took_ns = now_ns - began_ns;
  if (took_ns <= long_ns) {
    if (way == Way::tries && until_ns_.exchange(0, std::memory_order_relaxed) != 0)
      opened_ns_.store(now_ns, std::memory_order_relaxed);
    return false;
  }
  // Of several threads that gave one slice together, one notes it.
  if (began_ns < noted_ns_.load(std::memory_order_relaxed))
    return until_ns_.load(std::memory_order_relaxed) != 0;
  noted_ns_.store(now_ns, std::memory_order_relaxed);
  const unsigned waits = waits_.exchange(0, std::memory_order_relaxed);
  const unsigned noted = waits < all_noted ? waits : all_noted + (waits - all_noted) / one_of_;
  const bool dense = noted * worth_ns <= took_ns;
  const unsigned dense_before = dense_.load(std::memory_order_relaxed);
  dense_.store(dense ? dense_before + 1 : 0, std::memory_order_relaxed);
  if (way != Way::tries && (!dense || dense_before == 0)) return false;
  // Another thread has found them dear meanwhile.
  if (way == Way::yields && until_ns_.load(std::memory_order_relaxed) != 0) return true;
  const std::int64_t last = without_ns_.load(std::memory_order_relaxed);
  const bool again = way == Way::tries || now_ns - opened_ns_.load(std::memory_order_relaxed) < last;
  const std::int64_t without =
      std::min(std::max(again ? 2 * last : 0, took_ns * fewest_times), took_ns * most_times);
  without_ns_.store(without, std::memory_order_relaxed);
  until_ns_.store(now_ns + without, std::memory_order_relaxed);
  return true;
}

}  // namespace phicoll
