#pragma once

// A pairwise covering array: rows of values such that every two values of two different axes meet in some
// row. Faults that need one value or a pair of values (a rank count and a layout) are met by a few hundred
// rows where the full product has millions.

#include <cstdint>
#include <functional>
#include <vector>

namespace phicoll {
namespace testing {

/// A small generator with the same numbers everywhere (the standard distributions' are not).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// 0 <= number < bound.
  int below(int bound) { return static_cast<int>(next() % static_cast<std::uint64_t>(bound)); }

 private:
  std::uint64_t state_;
};

using Row = std::vector<int>;

/// Greedy: each row starts from a pair that is still uncovered and takes, axis by axis, the value that covers
/// most. `valid` may refuse rows; a pair for which no valid row was found in `tries` is dropped and counted.
class Pairwise {
 public:
  Pairwise(std::vector<int> sizes, std::function<bool(const Row&)> valid, std::uint64_t seed)
      : sizes_(std::move(sizes)), valid_(std::move(valid)), random_(seed) {
    for (int size : sizes_) {
      first_.push_back(values_);
      values_ += size;
    }
    open_.assign(static_cast<std::size_t>(values_) * static_cast<std::size_t>(values_), 0);
    std::vector<std::pair<int, int>> pairs;
    for (int a = 0; a < axes(); ++a)
      for (int b = a + 1; b < axes(); ++b)
        for (int i = 0; i < size_of(a); ++i)
          for (int j = 0; j < size_of(b); ++j) {
            open(a, i, b, j) = 1;
            pairs.emplace_back(value(a, i), value(b, j));
          }
    // In random order, so that no axis is exhausted first.
    for (std::size_t i = pairs.size(); i > 1; --i)
      std::swap(pairs[i - 1], pairs[static_cast<std::size_t>(random_.below(static_cast<int>(i)))]);
    for (const auto& pair : pairs) {
      if (!open_[index(pair.first, pair.second)]) continue;
      if (!cover(pair)) {
        open_[index(pair.first, pair.second)] = 0;
        ++dropped_;
      }
    }
  }

  const std::vector<Row>& rows() const { return rows_; }
  int dropped() const { return dropped_; }

 private:
  static constexpr int tries = 400;
  static constexpr int candidates = 8;

  int axes() const { return static_cast<int>(sizes_.size()); }
  int size_of(int axis) const { return sizes_[static_cast<std::size_t>(axis)]; }
  int value(int axis, int i) const { return first_[static_cast<std::size_t>(axis)] + i; }
  std::size_t index(int v, int w) const {
    return static_cast<std::size_t>(v < w ? v : w) * static_cast<std::size_t>(values_) +
           static_cast<std::size_t>(v < w ? w : v);
  }
  char& open(int a, int i, int b, int j) { return open_[index(value(a, i), value(b, j))]; }

  int gain(const Row& row, int axis, int i) {
    int count = 0;
    for (int other = 0; other < axes(); ++other)
      if (other != axis && row[static_cast<std::size_t>(other)] >= 0)
        count += open(axis, i, other, row[static_cast<std::size_t>(other)]);
    return count;
  }

  Row candidate(const std::pair<int, int>& pair, bool greedy) {
    Row row(sizes_.size(), -1);
    std::vector<int> order;
    for (int a = 0; a < axes(); ++a) {
      for (int v : {pair.first, pair.second})
        if (v >= value(a, 0) && v < value(a, size_of(a))) row[static_cast<std::size_t>(a)] = v - value(a, 0);
      if (row[static_cast<std::size_t>(a)] < 0) order.push_back(a);
    }
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[static_cast<std::size_t>(random_.below(static_cast<int>(i)))]);
    for (int axis : order) {
      int best = random_.below(size_of(axis));
      if (greedy) {
        const int start = best;
        int most = -1;
        for (int k = 0; k < size_of(axis); ++k) {
          const int i = (start + k) % size_of(axis);
          const int count = gain(row, axis, i);
          if (count > most) {
            most = count;
            best = i;
          }
        }
      }
      row[static_cast<std::size_t>(axis)] = best;
    }
    return row;
  }

  int covered(const Row& row) {
    int count = 0;
    for (int a = 0; a < axes(); ++a) count += gain(row, a, row[static_cast<std::size_t>(a)]);
    return count / 2;
  }

  bool cover(const std::pair<int, int>& pair) {
    Row best;
    int most = -1;
    int found = 0;
    for (int t = 0; t < tries && found < candidates; ++t) {
      // Where the greedy choice is refused again and again, a random one may do.
      Row row = candidate(pair, t < tries / 8);
      if (!valid_(row)) continue;
      ++found;
      const int count = covered(row);
      if (count > most) {
        most = count;
        best = std::move(row);
      }
    }
    if (most < 0) return false;
    for (int a = 0; a < axes(); ++a)
      for (int b = a + 1; b < axes(); ++b)
        open(a, best[static_cast<std::size_t>(a)], b, best[static_cast<std::size_t>(b)]) = 0;
    rows_.push_back(std::move(best));
    return true;
  }

  std::vector<int> sizes_;
  std::function<bool(const Row&)> valid_;
  Random random_;
  std::vector<int> first_;
  int values_ = 0;
  std::vector<char> open_;
  std::vector<Row> rows_;
  int dropped_ = 0;
};

}  // namespace testing
}  // namespace phicoll
