#pragma once

// A group of ranks as parts that share a CPU, a core, a cache, a memory node or a package, and the leaders of
// the parts, for algorithms that work within parts and between them.

#include <cstddef>
#include <vector>

#include "phicoll/collectives/algorithm.hpp"
#include "phicoll/memory/shape.hpp"

namespace phicoll {

template <class Visitor>
void describe_level(Visitor& visitor, Level& level) {
  visitor.choice("group", level, {"cpu", "core", "l3", "numa", "package"},
                 "what the ranks share that form a part");
}

/// The parts at a level, in the order of their lowest ranks, who lead them.
struct Parts {
  Parts(const Shape& shape, Level level) : of(shape.groups(level)) {
    for (int r = 0; r < shape.size(); ++r) {
      const auto part = static_cast<std::size_t>(of[static_cast<std::size_t>(r)]);
      if (part == members.size()) {
        members.emplace_back();
        leaders.push_back(r);
      }
      index.push_back(static_cast<int>(members[part].size()));
      members[part].push_back(r);
    }
  }
  static Shape sub_shape(const Shape& shape, const std::vector<int>& ranks) {
    std::vector<Place> places;
    for (int r : ranks) places.push_back(shape[r]);
    Shape sub(std::move(places));
    sub.set_costs(shape.costs());
    return sub;
  }
  Shape shape_of(const Shape& shape, std::size_t part) const { return sub_shape(shape, members[part]); }
  Shape shape_of_leaders(const Shape& shape) const { return sub_shape(shape, leaders); }
  std::size_t count() const { return leaders.size(); }
  /// Whether the ranks of each part follow each other: an order of parts is then an order of ranks.
  bool in_order() const {
    for (std::size_t r = 1; r < of.size(); ++r)
      if (of[r] < of[r - 1]) return false;
    return true;
  }

  std::vector<int> of;                    ///< the part of each rank
  std::vector<int> index;                 ///< its place in it
  std::vector<std::vector<int>> members;  ///< the ranks of each part
  std::vector<int> leaders;
};

}  // namespace phicoll
