#pragma once

#include <cstdint>

namespace phicoll {

/// The next number of SplitMix64 (Steele, Lea, Flood 2014): one 64-bit state, every seed is a good one.
inline std::uint64_t split_mix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ull;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace phicoll
