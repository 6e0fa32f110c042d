#pragma once

// The parts in which both ranks copy the rest of a large message.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace phicoll {

/// The parts of a message's rest, which ranks claim in order, several at a time.
class Parts {
 public:
  Parts(std::size_t from, std::size_t to) : from_(from), to_(to) {}
  std::uint64_t count() const { return (to_ - from_ + part - 1) / part; }
  /// How many parts a rank claims when `claimed` are taken already: half of what is left. So a rank alone
  /// makes few copies, and two that begin together end together. Many small parts cost more than one copy.
  std::uint64_t claim(std::uint64_t claimed) const {
    return std::max(std::uint64_t{1}, std::min((count() - claimed) / 2, std::uint64_t{most}));
  }
  /// Where a part begins in the message, and how long `parts` parts from there are.
  std::size_t at(std::uint64_t first) const { return from_ + static_cast<std::size_t>(first) * part; }
  std::size_t bytes_at(std::size_t at, std::uint64_t parts) const {
    return std::min(static_cast<std::size_t>(parts) * part, to_ - at);
  }

 private:
  static constexpr std::size_t part = 65536;
  // At once: if a rank loses its CPU, its peer copies the rest.
  static constexpr std::uint64_t most = 32;
  std::size_t from_;
  std::size_t to_;
};

}  // namespace phicoll
