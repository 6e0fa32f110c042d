#pragma once

// The random numbers of the NAS Parallel Benchmarks (their report, section 2.3): x(k+1) = a x(k) mod 2^46.

#include <cstdint>

namespace phicoll {
namespace programs {

class NpbRandom {
 public:
  static constexpr std::uint64_t usual_seed = 314159265;
  static constexpr std::uint64_t usual_factor = 1220703125;  // 5^13

  explicit NpbRandom(std::uint64_t seed = usual_seed) : state_(seed) {}
  /// 0 < result < 1.
  double next() { return step(usual_factor); }
  /// The number after multiplying by `factor` instead.
  double step(std::uint64_t factor) {
    state_ = times(state_, factor);
    return static_cast<double>(state_) * (1.0 / 70368744177664.0);
  }
  /// factor^n: by it a sequence skips n - 1 numbers.
  static std::uint64_t power(std::uint64_t factor, std::uint64_t n) {
    std::uint64_t result = 1;
    for (; n != 0; n >>= 1, factor = times(factor, factor))
      if (n & 1) result = times(result, factor);
    return result;
  }

 private:
  /// Unsigned arithmetic keeps the lowest 64 bits, which hold the 46 that count.
  static std::uint64_t times(std::uint64_t a, std::uint64_t b) {
    return (a * b) & ((std::uint64_t{1} << 46) - 1);
  }
  std::uint64_t state_;
};

}  // namespace programs
}  // namespace phicoll
