#pragma once

// The parts in which both ranks copy the rest of a large message.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace phicoll {

/// The parts of a message's rest that ranks claim, in order.
class Parts {
 public:
  Parts(std::size_t from, std::size_t to) : from_(from), to_(to) {
    while (part_ < most_part && part_ * 16 < to - from) part_ *= 2;
  }
  std::uint64_t count() const { return (to_ - from_ + part_ - 1) / part_; }
  /// Where a part begins in the message, and how long the part there is.
  std::size_t at(std::uint64_t part) const { return from_ + static_cast<std::size_t>(part) * part_; }
  std::size_t bytes_at(std::size_t at) const { return std::min(part_, to_ - at); }

 private:
  static constexpr std::size_t most_part = 524288;
  std::size_t from_;
  std::size_t to_;
  std::size_t part_ = 65536;
};

}  // namespace phicoll
