#include "phicoll/waiting/dear_yields.hpp"

#include <algorithm>

namespace phicoll {

namespace {

// A yield longer than the first is long. Yields are dear if twice in a row that is more than the second for
// each wait since the last long one: about what a sleep and a wake take where CPUs are busy.
constexpr std::int64_t long_ns = 500 * 1000, worth_ns = 50 * 1000;
// Then waits do without for so many times as long, at first and at most.
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
  const unsigned waits = waits_.exchange(0, std::memory_order_relaxed);
  const bool dense = waits * worth_ns <= took_ns * one_of_;
  const unsigned dense_before = dense_.load(std::memory_order_relaxed);
  dense_.store(dense ? dense_before + 1 : 0, std::memory_order_relaxed);
  if (way != Way::tries && (!dense || dense_before == 0)) return false;
  // One of several threads notes a slice that they gave together.
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
