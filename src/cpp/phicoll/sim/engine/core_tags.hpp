#pragma once

// Which lines a cache of a core holds, by sets in the order of last use.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace phicoll {
namespace sim {

class CoreTags {
 public:
  static constexpr std::uint32_t nothing = UINT32_MAX;

  CoreTags(int kib, int ways)
      : ways_(static_cast<std::size_t>(ways)),
        sets_(static_cast<std::uint32_t>(static_cast<std::size_t>(kib) * 1024 / 64 / ways_)),
        mask_((sets_ & (sets_ - 1)) == 0 ? sets_ - 1 : 0),
        lines_(sets_ * ways_, nothing) {}

  /// Whether the line is there; it becomes the one used last.
  bool touch(std::uint32_t line) {
    std::uint32_t* const set = set_of(line);
    if (set[0] == line) return true;
    const std::size_t way = find(set, line);
    if (way == ways_) return false;
    move_back(set, way);
    set[0] = line;
    return true;
  }
  /// The same, but puts the line in if it is not there: `out` is then the line that it drives out, or
  /// `nothing`.
  bool hold(std::uint32_t line, std::uint32_t* out = nullptr) {
    std::uint32_t* const set = set_of(line);
    if (set[0] == line) return true;
    const std::size_t way = find(set, line);
    const std::size_t last = std::min(way, ways_ - 1);
    if (out != nullptr) *out = set[last];
    move_back(set, last);
    set[0] = line;
    return way != ways_;
  }
  void remove(std::uint32_t line) {
    std::uint32_t* const set = set_of(line);
    const std::size_t way = find(set, line);
    if (way == ways_) return;
    for (std::size_t w = way + 1; w < ways_; ++w) set[w - 1] = set[w];
    set[ways_ - 1] = nothing;
  }

 private:
  std::uint32_t* set_of(std::uint32_t line) {
    return &lines_[(mask_ != 0 ? line & mask_ : line % sets_) * ways_];
  }
  /// The line's way, ways_ if it is not there. Looks at all ways: the processor cannot predict where a line
  /// is, and a wrong guess costs more.
  std::size_t find(const std::uint32_t* set, std::uint32_t line) const {
    if (ways_ == 8) {
      Half halves[2];
      std::memcpy(halves, set, sizeof halves);
      const Half found =
          ((halves[0] == line) & Half{1, 2, 4, 8}) | ((halves[1] == line) & Half{16, 32, 64, 128});
      return static_cast<std::size_t>(__builtin_ctz(found[0] | found[1] | found[2] | found[3] | 256U));
    }
    std::size_t found = ways_;
    for (std::size_t way = 0; way < ways_; ++way) found = set[way] == line ? way : found;
    return found;
  }
  /// Moves the first `ways` of a set by one.
  void move_back(std::uint32_t* set, std::size_t ways) const {
    if (ways_ == 8 && ways == 7) {
      Half halves[2];
      std::memcpy(halves, set, sizeof halves);
      std::memcpy(set + 1, &halves[0], sizeof halves[0]);
      std::memcpy(set + 5, &halves[1], 3 * sizeof *set);
      return;
    }
    for (std::size_t way = ways; way != 0; --way) set[way] = set[way - 1];
  }

  using Half = std::uint32_t __attribute__((vector_size(16)));  // of a set of eight ways, as most have

  std::size_t ways_;
  std::uint32_t sets_;
  std::uint32_t mask_;  // sets_ - 1 for a power of two, else 0: a division takes longer than the rest
  std::vector<std::uint32_t> lines_;
};

}  // namespace sim
}  // namespace phicoll
