#include "phicoll/memory/region.hpp"

#include <string>

#include "phicoll/arch/arch.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

namespace {
// An empty block takes a place, too.
std::size_t at_least_one(std::size_t bytes) {
  return bytes == 0 ? 1 : bytes;
}
}  // namespace

Region::Region(std::size_t bytes, std::size_t used_before) : bytes_(bytes), touched_(used_before) {
  free_[0] = bytes;
}

bool Region::find(std::size_t strides, std::size_t* start) const {
  for (const auto& hole : free_) {
    *start = arch::whole_strides(hole.first);
    if (hole.second >= *start - hole.first + strides) return true;
  }
  return false;
}

Region::Block Region::take(std::size_t bytes) {
  if (bytes > bytes_) refuse(bytes, bytes_);  // before it is rounded up, which may overflow
  const std::size_t wanted = arch::whole_strides(at_least_one(bytes));
  std::size_t start = 0;
  if (find(wanted, &start)) return take_at(start, wanted);
  std::size_t largest = 0;
  for (const auto& hole : free_)
    if (hole.second > largest) largest = hole.second;
  refuse(wanted, largest);
}

bool Region::fits(std::size_t bytes) const {
  std::size_t start = 0;
  return bytes <= bytes_ && find(arch::whole_strides(at_least_one(bytes)), &start);
}

void Region::refuse(std::size_t wanted, std::size_t largest) const {
  throw RegionFullError(
      "memory_limit: " + std::to_string(wanted) + " bytes of the group's shared memory are needed and " +
      std::to_string(largest) + " of its " + std::to_string(bytes_) +
      " are free in one piece; raise memory_limit or choose an algorithm with a smaller footprint");
}

Region::Block Region::take_at(std::size_t offset, std::size_t bytes) {
  if (bytes > bytes_) refuse(bytes, bytes_);
  const std::size_t wanted = arch::whole_lines(at_least_one(bytes));
  auto hole = free_.upper_bound(offset);
  if (hole != free_.begin()) --hole;
  if (hole == free_.end() || offset % arch::line_bytes != 0 || hole->first > offset || offset > bytes_ ||
      wanted > bytes_ - offset || hole->first + hole->second < offset + wanted)
    throw ArgumentError("place", std::to_string(offset) + " with " + std::to_string(wanted) + " bytes",
                        "free multiples of 64 within " + std::to_string(bytes_));
  const std::size_t hole_start = hole->first;
  const std::size_t hole_end = hole_start + hole->second;
  free_.erase(hole);
  if (offset > hole_start) free_[hole_start] = offset - hole_start;
  if (offset + wanted < hole_end) free_[offset + wanted] = hole_end - offset - wanted;
  const Block block{offset, wanted, offset < touched_};
  if (offset + wanted > touched_) touched_ = offset + wanted;
  return block;
}

void Region::give_back(const Block& block) {
  auto next = free_.lower_bound(block.offset);
  std::size_t start = block.offset;
  std::size_t end = block.offset + block.bytes;
  PHICOLL_ASSERT(ThisBuild, block.bytes != 0 && end <= bytes_ && (next == free_.end() || next->first >= end),
                 "a block that is not taken is given back, at byte " + std::to_string(start));
  if (next != free_.end() && next->first == end) {
    end += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto before = next;
    --before;
    if (before->first + before->second == start) {
      start = before->first;
      free_.erase(before);
    }
  }
  free_[start] = end - start;
}

}  // namespace phicoll
