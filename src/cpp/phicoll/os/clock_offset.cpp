#include "phicoll/os/clock_offset.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <limits>
#include <string>
#include <system_error>
#include <thread>

#include "phicoll/arch/arch.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"

namespace phicoll {
namespace os {

namespace {

// When this side fails, stores -1 for the other side, so that it does not wait for ever.
void wait_for(const std::atomic<std::int64_t>& word, std::int64_t value) {
  for (int turn = 1;; ++turn) {
    const std::int64_t seen = word.load(std::memory_order_acquire);
    if (seen == value || seen < 0) return;
    if (turn % 10000 == 0) std::this_thread::yield();
  }
}

template <class Body>
std::thread started(const Body& body) {
  try {
    return std::thread(body);
  } catch (const std::system_error& error) {
    throw ResourceError(std::string("no thread could be started to compare the CPUs' clocks: ") +
                        error.what());
  }
}

}  // namespace

ClockOffset measure_clock_offset(int first, int other, int exchanges) {
  if (first == other)
    throw ArgumentError("other", std::to_string(other), "a CPU other than " + std::to_string(first));
  struct alignas(arch::stride_bytes) Line {
    std::atomic<std::int64_t> turn{0};
    std::atomic<std::uint64_t> stamp{0};
  };
  Line ask;
  Line answer;
  std::exception_ptr failure;
  std::int64_t low = std::numeric_limits<std::int64_t>::min();
  std::int64_t high = std::numeric_limits<std::int64_t>::max();

  std::thread there = started([&] {
    try {
      pin_this_thread(other);
    } catch (...) {
      failure = std::current_exception();
      answer.turn.store(-1, std::memory_order_release);
      return;
    }
    for (std::int64_t i = 1; i <= exchanges; ++i) {
      wait_for(ask.turn, i);
      if (ask.turn.load(std::memory_order_relaxed) < 0) return;
      answer.stamp.store(arch::cycles(), std::memory_order_relaxed);
      answer.turn.store(i, std::memory_order_release);
    }
  });
  std::exception_ptr own_failure;
  const auto fail = [&] {
    own_failure = std::current_exception();
    ask.turn.store(-1, std::memory_order_release);
  };
  const auto exchange = [&] {
    try {
      pin_this_thread(first);
    } catch (...) {
      return fail();
    }
    for (std::int64_t i = 1; i <= exchanges; ++i) {
      const std::uint64_t sent = arch::cycles();
      ask.turn.store(i, std::memory_order_release);
      wait_for(answer.turn, i);
      if (answer.turn.load(std::memory_order_relaxed) < 0) return;
      const std::uint64_t stamp = answer.stamp.load(std::memory_order_relaxed);
      const std::uint64_t received = arch::cycles();
      // The stamp was taken between the two readings here: each exchange bounds the offset from both sides.
      low = std::max(low, static_cast<std::int64_t>(stamp - received));
      high = std::min(high, static_cast<std::int64_t>(stamp - sent));
    }
  };
  try {
    started(exchange).join();
  } catch (const ResourceError&) {
    fail();
  }
  there.join();
  if (failure) std::rethrow_exception(failure);
  if (own_failure) std::rethrow_exception(own_failure);
  const double scale = cycle_clock().ns_per_cycle;
  // Counters that drift apart may leave no common interval; the ends then swap their roles.
  return ClockOffset{static_cast<double>(std::min(low, high)) * scale,
                     static_cast<double>(std::max(low, high)) * scale};
}

double largest_clock_offset_ns(const std::vector<int>& cpus) {
  double largest = 0;
  for (std::size_t i = 1; i < cpus.size(); ++i)
    largest = std::max(largest, std::fabs(measure_clock_offset(cpus[0], cpus[i]).offset_ns()));
  return largest;
}

}  // namespace os
}  // namespace phicoll
