#pragma once

// What a test on a loaded machine, or in a virtual machine that stands still now and then, waits for and
// judges.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "phicoll/os/clock.hpp"

namespace phicoll {

constexpr std::int64_t second_ns = 1000000000;

/// PHICOLL_TEST_LONG=1 runs all; without it a test takes the part of its matrix that has each kind.
inline bool runs_all() {
  const char* const text = std::getenv("PHICOLL_TEST_LONG");
  return text != nullptr && std::string(text) == "1";
}

/// Waits until `holds()`: for a minute at most, since a test waits so long for nothing that works.
template <class Condition>
bool eventually(Condition holds) {
  for (const std::int64_t end = os::now_ns() + 60 * second_ns; os::now_ns() < end; usleep(1000))
    if (holds()) return true;
  return holds();
}

/// Expects that a round takes less than the bound. `round()` checks what must hold in each round, and returns
/// how long it took, in ns. A machine may hold any round up, so a late one is repeated. What ends too late of
/// itself is late in all.
template <class Round>
void expect_within(std::int64_t bound_ns, Round round) {
  std::string late;
  for (int i = 0; i < 20 && !::testing::Test::HasFailure(); ++i) {
    const std::int64_t ns = round();
    if (ns < bound_ns) return;
    late += " " + std::to_string(ns / 1000000);
  }
  EXPECT_EQ(late, "") << "ms in rounds that must take less than " << bound_ns / 1000000;
}

/// The same of the whole time that `round()` takes.
template <class Round>
void expect_to_end_within(std::int64_t bound_ns, Round round) {
  expect_within(bound_ns, [&] {
    const std::int64_t start = os::now_ns();
    round();
    return os::now_ns() - start;
  });
}

}  // namespace phicoll
