#pragma once

// Which lines a cache of a core holds, by sets in the order of last use.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace phicoll {
namespace sim {

class CoreTags {
 public:
  static constexpr std::uint32_t nothing = UINT32_MAX;

  CoreTags(int kib, int ways)
      : ways_(static_cast<std::size_t>(ways)),
        sets_(static_cast<std::size_t>(kib) * 1024 / 64 / ways_),
        lines_(sets_ * ways_, nothing) {}

  /// Of as many lines, numbered one after another, none drives another out.
  std::size_t capacity() const { return lines_.size(); }
  /// Whether the line is there; it becomes the one used last.
  bool touch(std::uint32_t line) {
    std::uint32_t* const set = &lines_[line % sets_ * ways_];
    if (set[0] == line) return true;
    for (std::size_t way = 1; way < ways_; ++way)
      if (set[way] == line) {
        for (; way != 0; --way) set[way] = set[way - 1];
        set[0] = line;
        return true;
      }
    return false;
  }
  /// Puts a line in that is not there; returns the line that it drives out, or `nothing`.
  std::uint32_t insert(std::uint32_t line) {
    std::uint32_t* const set = &lines_[line % sets_ * ways_];
    const std::uint32_t out = set[ways_ - 1];
    for (std::size_t way = ways_ - 1; way != 0; --way) set[way] = set[way - 1];
    set[0] = line;
    return out;
  }
  void remove(std::uint32_t line) {
    std::uint32_t* const set = &lines_[line % sets_ * ways_];
    std::size_t kept = 0;
    for (std::size_t way = 0; way < ways_; ++way)
      if (set[way] != line) set[kept++] = set[way];
    for (; kept < ways_; ++kept) set[kept] = nothing;
  }

 private:
  std::size_t ways_;
  std::size_t sets_;
  std::vector<std::uint32_t> lines_;
};

}  // namespace sim
}  // namespace phicoll
