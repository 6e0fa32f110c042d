#pragma once

// Where a group's shared memory holds what: the control block, the processes' own header, the group's own
// barrier, then the region of the collectives. The same in threads, where the processes' header is never
// touched.

#include "phicoll/group/communicator.hpp"
#include "phicoll/group/process_header.hpp"

namespace phicoll {

struct GroupLayout {
  static constexpr std::size_t page = 4096;
  static std::size_t round_up(std::size_t bytes) { return (bytes + page - 1) / page * page; }
  static std::size_t header_offset() { return round_up(sizeof(Control)); }
  static std::size_t sync_offset() { return round_up(header_offset() + sizeof(ProcessHeader)); }
  static std::size_t region_offset() { return round_up(sync_offset() + sizeof(SenseReversing::Shared)); }
  static std::size_t total(std::size_t region_bytes) { return region_offset() + round_up(region_bytes); }

  static GroupMemory at(void* base, std::size_t region_bytes) {
    auto* bytes = static_cast<unsigned char*>(base);
    GroupMemory memory;
    memory.control = reinterpret_cast<Control*>(bytes);
    memory.sync = reinterpret_cast<SenseReversing::Shared*>(bytes + sync_offset());
    memory.region = bytes + region_offset();
    memory.region_bytes = round_up(region_bytes);
    return memory;
  }
  static ProcessHeader* header_at(void* base) {
    return reinterpret_cast<ProcessHeader*>(static_cast<unsigned char*>(base) + header_offset());
  }
};

}  // namespace phicoll
