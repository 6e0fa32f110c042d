#pragma once

// Seeded random numbers that are the same on every machine, unlike the standard library's distributions, so
// that the places, orders and delays of a run follow from its seed.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "phicoll/support/split_mix.hpp"

namespace phicoll {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() { return split_mix(state_); }
  /// 0 <= result < n; n < 2^32. The bias of the multiplication is below n / 2^32.
  std::uint64_t below(std::uint64_t n) { return ((next() >> 32) * n) >> 32; }
  /// 0 <= result < 1.
  double unit() { return static_cast<double>(next() >> 11) * (1.0 / 9007199254740992.0); }

  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[static_cast<std::size_t>(below(i))]);
  }

 private:
  std::uint64_t state_;
};

/// Mixes its arguments into one number: the seed of a part of a run.
inline std::uint64_t mix_seed(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0, std::uint64_t c = 0) {
  Random random(seed ^ (a * 0x9e3779b97f4a7c15ull));
  Random second(random.next() ^ (b * 0xc2b2ae3d27d4eb4full));
  Random third(second.next() ^ (c * 0x165667b19e3779f9ull));
  return third.next();
}

}  // namespace phicoll
