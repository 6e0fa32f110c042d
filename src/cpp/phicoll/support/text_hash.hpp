#pragma once

#include <cstdint>
#include <string>

namespace phicoll {

/// FNV-1a: the same on every machine and in every process.
inline std::uint64_t text_hash(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

/// A number in 16 hexadecimal digits.
inline std::string hexadecimal(std::uint64_t number) {
  std::string digits;
  for (int i = 60; i >= 0; i -= 4) digits += "0123456789abcdef"[(number >> i) & 15u];
  return digits;
}

}  // namespace phicoll
