#pragma once

// The layout of a group's shared memory: the control block, the processes' own header, the ranks' calls and
// their slots for splitting, the group's own barrier, the host's numbers, the processes' copy desk, the
// region of the collectives, the shared heap. Groups of threads have the same layout and never touch the
// processes' parts; a sub-communicator has no header, desk or heap.

#include "phicoll/collectives/barrier/sense_reversing.hpp"
#include "phicoll/group/group_memory.hpp"
#include "phicoll/group/heap.hpp"
#include "phicoll/group/learned_numbers.hpp"
#include "phicoll/group/process_header.hpp"
#include "phicoll/memory/copy_desk.hpp"

namespace phicoll {

/// The group's own barrier, and the bytes that it takes.
constexpr const char* sync_algorithm = "sense-reversing:reset=episode";
constexpr std::size_t sync_bytes = sizeof(SenseReversing::Shared);
static_assert(sync_bytes % arch::stride_bytes == 0, "what follows has a place of its own");

struct GroupLayout {
  static std::size_t round_up(std::size_t bytes) {
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
  }
  static std::size_t header_offset() { return round_up(sizeof(Control)); }
  static std::size_t board_offset() { return round_up(header_offset() + sizeof(ProcessHeader)); }
  static std::size_t slots_offset() { return board_offset() + CallBoard::footprint(max_ranks); }
  static std::size_t sync_offset() { return round_up(slots_offset() + max_ranks * sizeof(SplitSlot)); }
  static std::size_t learned_offset() { return sync_offset() + sync_bytes; }
  static std::size_t desk_offset() { return round_up(learned_offset() + sizeof(LearnedNumbers)); }
  static std::size_t region_offset() { return round_up(desk_offset() + sizeof(CopyDesk)); }
  static std::size_t heap_offset(std::size_t region_bytes) {
    return region_offset() + round_up(region_bytes);
  }
  static std::size_t total(std::size_t region_bytes, std::size_t heap_bytes = 0) {
    return heap_offset(region_bytes) + Heap::footprint(heap_bytes);
  }

  static GroupMemory at(void* base, std::size_t region_bytes, std::size_t heap_bytes = 0) {
    auto* bytes = static_cast<unsigned char*>(base);
    GroupMemory memory;
    memory.control = reinterpret_cast<Control*>(bytes);
    memory.sync = bytes + sync_offset();
    memory.learned = reinterpret_cast<LearnedNumbers*>(bytes + learned_offset());
    memory.region = bytes + region_offset();
    memory.region_bytes = round_up(region_bytes);
    memory.slots = reinterpret_cast<SplitSlot*>(bytes + slots_offset());
    if (heap_bytes != 0) memory.heap = bytes + heap_offset(region_bytes);
    return memory;
  }
  /// Sets up zeroed memory, once, by the group's maker; the control still lacks configure(). The host's
  /// numbers are measured at the earliest `numbers_after_ms` after the first large call.
  static void prepare(void* base, std::size_t region_bytes, std::size_t heap_bytes,
                      std::int64_t numbers_after_ms = 0) {
    auto* bytes = static_cast<unsigned char*>(base);
    auto& control = *reinterpret_cast<Control*>(bytes);
    control.set_memory(total(region_bytes, heap_bytes));
    control.set_board(board_offset());
    control.set_desk(desk_offset());
    at(base, region_bytes).learned->wait_before_measuring(numbers_after_ms * 1000000);
    Heap::prepare(bytes + heap_offset(region_bytes), heap_bytes);
  }
  static ProcessHeader* header_at(void* base) {
    return reinterpret_cast<ProcessHeader*>(static_cast<unsigned char*>(base) + header_offset());
  }
};

/// The part of a sub-communicator's block in front of its region, where pages are taken at once.
struct ChildLayout {
  static std::size_t board_offset(int ranks) { return Control::child_bytes(ranks); }
  static std::size_t slots_offset(int ranks) { return board_offset(ranks) + CallBoard::footprint(ranks); }
  static std::size_t sync_offset(int ranks) {
    return slots_offset(ranks) + static_cast<std::size_t>(ranks) * sizeof(SplitSlot);
  }
  static std::size_t host_offset(int ranks) { return sync_offset(ranks) + sync_bytes; }
  static std::size_t region_offset(int ranks) {
    return GroupLayout::round_up(host_offset(ranks) + sizeof(HostNumbers));
  }
};

}  // namespace phicoll
