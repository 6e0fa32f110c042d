#pragma once

// How the rest of a large message is copied: through the ring, or by both ranks with the kernel's help.

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

/// The way that was the faster one for a rank's last large messages from another rank. With the kernel's help a small page
/// costs as much as its copy, and a large one little: between two processes on an EPYC, messages of 2, 4 and 8 MB took 1.5,
/// 1.0 and 1.5 of the ring's time in small pages, and 0.75, 0.6 and 0.9 in large ones. Where other programs have the CPUs, both
/// kinds take half of it or less, as no rank has to wait for the other. So each way is tried a few times with messages
/// of about the same size, and the slower one again now and then. The least of a way's last times counts, since a rank may be
/// late.
class CopyWays {
 public:
  static constexpr std::size_t least_bytes = std::size_t{2} << 20;

  /// Which way the next message takes: whether both ranks copy it.
  bool copy_both(std::size_t bytes) {
    Size& size = of(bytes);
    const unsigned turn = size.messages++;
    if (turn < 2 * kept) return turn % 2 != 0;
    const bool faster = size.least(true) < size.least(false);
    return turn % again == 0 ? !faster : faster;
  }
  void took(bool by_both, std::size_t bytes, std::int64_t ns) {
    Size& size = of(bytes);
    const auto each = static_cast<std::uint64_t>(std::max(ns, std::int64_t{1})) * 1024 / (bytes >> 10);
    std::uint64_t* const times = size.times[by_both];
    std::copy_backward(times, times + kept - 1, times + kept);
    times[0] = each;
  }

 private:
  static constexpr unsigned kept = 4;
  static constexpr unsigned again = 64;
  static constexpr unsigned sizes = 5;  // 2 MB to 4 MB, and so on; 32 MB and more
  struct Size {
    unsigned messages = 0;
    std::uint64_t times[2][kept] = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
                                    {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};  // ns a MB

    std::uint64_t least(bool by_both) const {
      return *std::min_element(times[by_both], times[by_both] + kept);
    }
  };
  Size& of(std::size_t bytes) {
    unsigned which = 0;
    while (which + 1 < sizes && bytes >= 2 * least_bytes << which) ++which;
    return sizes_[which];
  }
  Size sizes_[sizes];
};

}  // namespace phicoll
