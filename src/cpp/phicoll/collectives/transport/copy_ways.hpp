#pragma once

// Remembers which way was faster for a rank's recent large data: through a ring, or by one copy with the
// kernel's help. Receivers of messages also choose by it whether to store past the caches, and two ranks'
// allreduces whether to exchange operands whole.

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace phicoll {

/// With the kernel's help a small page costs as much as its copy, a large one little; among other programs,
/// one copy also wins, as neither rank waits (docs/bench/behind-the-code.md). So each way is tried a few
/// times with data of about the same size, and again now and then. Ranks that all choose do so in the same
/// calls.
///
/// A way counts by the second best of its last four times: ranks may be late, and rings on shared CPUs
/// seldom fast. A trial ends early if its way takes 1.5 times the other's time twice, or 2.5 times once.
class CopyWays {
 public:
  static constexpr std::size_t least_bytes = std::size_t{2} << 20;
  /// The smallest block for which a reader chooses whether both ranks copy it once.
  static constexpr std::size_t least_block = std::size_t{1} << 20;

  /// While a size is new, every `every`th transfer of it is copied once.
  explicit CopyWays(unsigned every = 2) : every_(every) {}

  /// Whether the next data is copied once.
  bool copy_once(std::size_t bytes) {
    Size& size = of(bytes);
    const unsigned turn = size.turns++;
    if (turn < every_ * kept && !size.clear()) return turn % every_ == every_ - 1;
    if (turn % again == 0) return turn / again % 2 != 0;
    return once_was_faster(bytes);
  }
  /// Whether one copy was faster lately. For data that nobody times: this counts as no trial.
  bool once_was_faster(std::size_t bytes) const {
    const Size& size = of(bytes);
    return size.usual(true) < size.usual(false);
  }
  /// Whether both ways have taken data of such a size often enough to compare them.
  bool knows(std::size_t bytes) const {
    const Size& size = of(bytes);
    return size.usual(true) != UINT64_MAX && size.usual(false) != UINT64_MAX;
  }
  void took(bool once, std::size_t bytes, std::int64_t ns) {
    Size& size = of(bytes);
    const auto each = static_cast<std::uint64_t>(std::max(ns, std::int64_t{1})) * 1024 / (bytes >> 10);
    std::uint64_t* const times = size.times[once];
    std::copy_backward(times, times + kept - 1, times + kept);
    times[0] = each;
  }
  /// Makes and times a call that moves `bytes` bytes. exchange(offered) makes it and returns whether data
  /// was copied once; `offered`: this rank wants that, or `always`.
  template <class Port, class Exchange>
  void time(Port& port, std::size_t bytes, bool always, const Exchange& exchange) {
    const std::int64_t begun = port.now();
    const bool once = exchange(copy_once(bytes) || always);
    took(once, bytes, port.now() - begun);
  }
  /// Sizes of one class share their times: 0 for 1 MB to 2 MB, and so on.
  static unsigned size_class(std::size_t bytes) {
    unsigned which = 0;
    while (which + 1 < sizes && bytes >= 2 * least_block << which) ++which;
    return which;
  }

 private:
  static constexpr unsigned kept = 4;
  static constexpr unsigned again = 64;
  static constexpr unsigned sizes = 6;  // the last: 32 MB and more
  struct Size {
    unsigned turns = 0;
    std::uint64_t times[2][kept] = {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
                                    {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}};  // ns a MB

    std::uint64_t usual(bool once) const { return sorted(once, 1); }
    /// Whether one way's best time is much longer than the other's usual one.
    bool clear() const { return slower(true) || slower(false); }

   private:
    bool slower(bool once) const {
      const std::uint64_t best = sorted(once, 0), other = usual(!once);
      if (best == UINT64_MAX || other == UINT64_MAX) return false;
      return best > other + other / 2 * (usual(once) == UINT64_MAX ? 3 : 1);
    }
    std::uint64_t sorted(bool once, std::size_t place) const {
      std::uint64_t all[kept];
      std::partial_sort_copy(times[once], times[once] + kept, all, all + kept);
      return all[place];
    }
  };
  Size& of(std::size_t bytes) { return sizes_[size_class(bytes)]; }
  const Size& of(std::size_t bytes) const { return sizes_[size_class(bytes)]; }
  unsigned every_;
  Size sizes_[sizes];
};

}  // namespace phicoll
