#pragma once

// A group of ranks as parts that share a CPU, a core, a cache, a memory node or a package, for algorithms
// that work within and between parts.
//
// Parts are formed in stages: the first divides all ranks, each further one divides the leaders of the parts
// below, and the last, the top, has the remaining leaders in one part. A rank's chain is itself and the
// leaders above it. A part's first rank leads it, whatever a call's root is: so ranks share memory with the
// same others for any root, and rings outlive a call.

#include <cstddef>
#include <vector>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

/// The levels by which ranks are grouped: one, or every level that splits the leaders of the level within it.
enum class Grouping : unsigned char { cpu, core, l3, numa, package, nested };

template <class Visitor>
void describe_grouping(Visitor& visitor, Grouping& group) {
  visitor.choice("group", group, {"cpu", "core", "l3", "numa", "package", "nested"},
                 "what the ranks share that form a part; nested: all of these, parts within parts");
}

class Hierarchy {
 public:
  Hierarchy(const Shape& shape, Grouping grouping) {
    std::vector<int> members;  // the ranks that take part in the stage
    for (int r = 0; r < shape.size(); ++r) members.push_back(r);
    chain_.push_back(members);
    for (const Level level : {Level::cpu, Level::core, Level::l3, Level::numa, Level::package}) {
      if (grouping != Grouping::nested && grouping != static_cast<Grouping>(level)) continue;
      // Only members are grouped, so parts nest even if the machine's levels do not.
      const std::vector<int> groups = part_shape(shape, members).groups(level);
      Parts parts;
      for (std::size_t i = 0; i < members.size(); ++i) {
        if (static_cast<std::size_t>(groups[i]) == parts.size()) parts.emplace_back();
        parts[static_cast<std::size_t>(groups[i])].push_back(members[i]);
      }
      if (parts.size() == 1 || parts.size() == members.size()) continue;  // the top, or no parts
      members.clear();
      for (const std::vector<int>& part : parts) members.push_back(part.front());
      add(std::move(parts));
    }
    add({members});
  }

  /// The shape of a group that consists of these ranks.
  static Shape part_shape(const Shape& shape, const std::vector<int>& ranks) {
    std::vector<CpuLocation> places;
    for (const int r : ranks) places.push_back(shape[r]);
    Shape part(std::move(places));
    part.set_costs(shape.costs());
    part.set_stride(shape.stride());
    return part;
  }

  using Parts = std::vector<std::vector<int>>;
  int ranks() const { return static_cast<int>(chain_.front().size()); }
  int top() const { return static_cast<int>(stages_.size()) - 1; }
  /// The parts in the order of their leaders; ranks ascend within each.
  const Parts& parts(int stage) const { return stages_[index(stage)].parts; }
  const std::vector<int>& leaders() const { return parts(top()).front(); }
  /// The part of a rank's chain at a stage, and its place there.
  int part_of(int stage, int rank) const { return stages_[index(stage)].of[index(rank)]; }
  int place_of(int stage, int rank) const { return stages_[index(stage)].place[index(rank)]; }
  const std::vector<int>& part_around(int stage, int rank) const {
    return parts(stage)[index(part_of(stage, rank))];
  }
  /// The last stage in which a rank takes part; it leads its parts at the stages below.
  int last_stage(int rank) const {
    int stage = 0;
    while (stage < top() && chain_[index(stage) + 1][index(rank)] == rank) ++stage;
    return stage;
  }
  /// Whether each part stands for consecutive ranks: an order of parts is then an order of ranks.
  bool in_order() const {
    for (const Stage& stage : stages_)
      for (std::size_t r = 1; r < stage.of.size(); ++r)
        if (stage.of[r] < stage.of[r - 1]) return false;
    return true;
  }

 private:
  struct Stage {
    Parts parts;
    std::vector<int> of, place;  // for each rank of the group
  };
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  void add(Parts parts) {
    const std::vector<int>& below = chain_.back();
    PHICOLL_ASSERT(ThisBuild, !parts.empty() && !parts.front().empty(), "a stage without parts");
    std::vector<int> part_of_member(below.size()), place_of_member(below.size());
    for (std::size_t part = 0; part < parts.size(); ++part)
      for (std::size_t i = 0; i < parts[part].size(); ++i) {
        part_of_member[index(parts[part][i])] = static_cast<int>(part);
        place_of_member[index(parts[part][i])] = static_cast<int>(i);
      }
    Stage stage;
    std::vector<int> above;
    for (const int member : below) {
      stage.of.push_back(part_of_member[index(member)]);
      stage.place.push_back(place_of_member[index(member)]);
      above.push_back(parts[index(stage.of.back())].front());
    }
    stage.parts = std::move(parts);
    stages_.push_back(std::move(stage));
    chain_.push_back(std::move(above));
  }

  std::vector<Stage> stages_;
  std::vector<std::vector<int>> chain_;  // by stage and rank
};

}  // namespace phicoll
