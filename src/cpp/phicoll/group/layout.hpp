#pragma once

// Where a group's shared memory holds what: the control block, the group's own barrier, then the region of
// the collectives.

#include "phicoll/group/communicator.hpp"

namespace phicoll {

struct GroupLayout {
  static constexpr std::size_t page = 4096;
  static std::size_t round_up(std::size_t bytes) { return (bytes + page - 1) / page * page; }
  static std::size_t sync_offset() { return round_up(sizeof(Control)); }
  static std::size_t region_offset() { return round_up(sync_offset() + sizeof(SenseReversing::Shared)); }
  static std::size_t total(std::size_t region_bytes) { return region_offset() + round_up(region_bytes); }

  static GroupMemory at(void* base, std::size_t region_bytes) {
    auto* bytes = static_cast<unsigned char*>(base);
    return GroupMemory{reinterpret_cast<Control*>(bytes),
                       reinterpret_cast<SenseReversing::Shared*>(bytes + sync_offset()),
                       bytes + region_offset(), round_up(region_bytes)};
  }
};

}  // namespace phicoll
