#pragma once

// The addresses of a sample: drawn from the run's seed alone, so every rank draws the same without a message.
// Papers 001 and 004 (section 3.2) found that fixed addresses measure their tag directories.

#include <cstdint>
#include <utility>
#include <vector>

#include "phicoll/support/split_mix.hpp"

namespace phicoll {
namespace kernels {

/// SplitMix64, started from a seed, a sample and a purpose.
class Draw {
 public:
  Draw(std::uint64_t seed, std::uint64_t sample, std::uint64_t purpose)
      : state_(seed ^ (sample + 1) * 0xd1342543de82ef95ull ^ (purpose + 1) * 0xaf251af3b0f025b5ull) {}

  /// 0 <= result < n, n < 2^32.
  std::uint64_t below(std::uint64_t n) { return ((split_mix(state_) >> 32) * n) >> 32; }

  /// `count` distinct numbers below n, in random order.
  std::vector<std::uint32_t> distinct(std::uint32_t count, std::uint32_t n) {
    std::vector<std::uint32_t> numbers(n);
    for (std::uint32_t i = 0; i < n; ++i) numbers[i] = i;
    for (std::uint32_t i = 0; i < count; ++i)
      std::swap(numbers[i], numbers[i + static_cast<std::uint32_t>(below(n - i))]);
    numbers.resize(count);
    return numbers;
  }

 private:
  std::uint64_t state_;
};

}  // namespace kernels
}  // namespace phicoll
