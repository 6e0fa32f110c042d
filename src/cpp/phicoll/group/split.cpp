// Sub-communicators: their members, and their memory in the group's heap.

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <numeric>
#include <string>

#include "phicoll/collectives/registry/signature.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/communicator.hpp"
#include "phicoll/group/layout.hpp"
#include "phicoll/group/learned_numbers.hpp"
#include "phicoll/memory/host_numbers.hpp"

namespace phicoll {

namespace {

// What `auto` chooses is made to fit (CollectiveSet).
constexpr std::size_t usual_region = std::size_t{4} << 20;
constexpr std::size_t some_region = std::size_t{512} << 10;
constexpr std::size_t most_region = std::size_t{32} << 20;

/// Two ranks get 32 KB, sixteen and more 256 KB: among many an algorithm has cells for each pair.
std::size_t least_region(std::size_t members) {
  return std::max<std::size_t>(2, std::min<std::size_t>(members, 16)) << 14;
}

Shape shape_of(const Shape& parent, const std::vector<int>& members, const HostNumbers& host) {
  std::vector<CpuLocation> places;
  bool placed = false;
  for (int member : members) {
    places.push_back(parent[member]);
    placed = placed || places.back().cpu >= 0;
  }
  Shape part =
      placed ? Shape(std::move(places)) : Shape::unknown(static_cast<int>(members.size()), parent.crowded());
  part.set_costs(parent.costs());
  part.set_stride(parent.stride());
  part.set_host(host);
  part.set_tuning(parent.tuning());
  return part;
}

HostNumbers not_to_learn(HostNumbers host) {
  if (host.state == HostNumbers::wanted) host.state = HostNumbers::built_in;
  return host;
}

/// The callers' arrays count only where they leave little room.
PartRoom room_for_parts(const Heap& heap) {
  const std::size_t parts = heap.part_bytes();
  const std::size_t share = heap.bytes() / 32;
  if (parts >= 20 * share || heap.free_bytes() < 2 * share) return PartRoom::least;
  return parts < 16 * share ? PartRoom::large : parts < 19 * share ? PartRoom::usual : PartRoom::some;
}

/// The memory region of one part of a split. Large calls need rings that go round slowly; two ranks' longest
/// rings take 17 MB, a fifteenth of C++'s default heap. Pages are taken as they are used, but programs may
/// split often: beyond what small calls need, all parts together take at most a seventh of the heap. As parts
/// fill the heap, later ones get less, so that libraries may make thousands. A communicator of one rank needs
/// no rings; an algorithm selected by name still gets memory while the heap has room.
std::size_t region_for(const Member& of, std::size_t members, std::size_t parts, PartRoom room) {
  const Heap& heap = of.heap();
  const std::size_t least = least_region(members);
  if (room == PartRoom::least) return least;
  const std::size_t usual = room == PartRoom::some ? some_region : usual_region;
  const std::size_t small = std::max(std::min(usual, heap.bytes() / 4 / parts), least);
  if (members == 1 || room != PartRoom::large) return small;
  const std::size_t large =
      std::min({of.region_bytes(), most_region, heap.bytes() / 15, heap.bytes() / 7 / parts});
  return std::max(large, small);
}

/// The same on the first ranks of all parts, whichever of them takes its memory first. It is the same in
/// every run too, unless some ranks still free parts that have half of the heap.
std::size_t default_region(const Member& of, std::size_t members) {
  const SplitSlot* const slots = of.memory().slots;
  std::vector<std::int64_t> colors;
  for (int r = 0; r < of.size(); ++r)
    if (slots[r].color >= 0) colors.push_back(slots[r].color);
  std::sort(colors.begin(), colors.end());
  colors.erase(std::unique(colors.begin(), colors.end()), colors.end());
  return region_for(of, members, colors.size(), slots[0].room);
}

/// The numbers with which a communicator of so many of this one's ranks begins. Its first rank decides:
/// others may find more or less learned, as they come before or after a large call of another communicator,
/// or of this one if they are in create_group, which is no call of all of its ranks.
HostNumbers numbers_for(const Member& of, std::size_t members) {
  HostNumbers host = of.shape().host();
  if (host.state == HostNumbers::wanted) of.memory().learned->read(&host);
  // All ranks of a group measure together.
  return members < static_cast<std::size_t>(of.size()) ? not_to_learn(host) : host;
}

/// The child's first rank makes its block: all but the region is zeroed and written, so its pages are there.
void found_child(Member& of, const std::vector<int>& members, std::size_t region_bytes,
                 const HostNumbers& host, SplitSlot& slot) {
  Heap& heap = of.heap();
  slot.block = 0;
  slot.asked = region_bytes;
  const int ranks = static_cast<int>(members.size());
  const std::size_t front = ChildLayout::region_offset(ranks);
  Heap::Block block{nullptr, 0};
  try {
    if (region_bytes > heap.bytes()) throw ResourceError("more than the heap has");
    region_bytes = GroupLayout::round_up(region_bytes);
    slot.asked = front + region_bytes;
    block = heap.take_part(front + region_bytes);
    heap.reserve(block.at, front);
  } catch (const ResourceError&) {
    // The part's other ranks hear of it, and all of them raise.
    if (block.at != nullptr) heap.give_back_part(block.at);
    slot.free = heap.free_bytes();
    return;
  }
  std::memset(block.at, 0, front);
  auto* const control = reinterpret_cast<Control*>(block.at);
  control->configure_child(*of.memory().control, members);
  control->set_board(ChildLayout::board_offset(ranks));
  new (block.at + ChildLayout::host_offset(ranks)) HostNumbers(host);
  slot.region_bytes = region_bytes;
  slot.used_before = block.used_before > front ? block.used_before - front : 0;
  slot.block = of.memory().control->offset_of(block.at);
}

}  // namespace

std::unique_ptr<Communicator> Communicator::split(int color, int key, std::size_t memory_limit) {
  // Plain stores and loads of slots, ordered by the two barriers: the first makes every rank's wish visible
  // to all, the second every first rank's block to its part. A slot is written again only in the next split.
  // Its color, key and room come before that one's first barrier, and by then no rank reads them, as all have
  // come to this one's second; its block comes after it, when all have left this split.
  check_process();
  SplitSlot& own = memory_.slots[rank_];
  own.color = color;
  own.key = key;
  own.room = room_for_parts(heap_);
  const auto meet = [this] {
    if (board_ != nullptr) board_->note(rank_, calls_.begun() + 1, call_signature::split, calls_.tag());
    sync();
  };
  meet();
  std::vector<int> members;
  if (color >= 0) {
    for (int r = 0; r < size(); ++r)
      if (memory_.slots[r].color == color) members.push_back(r);
    std::stable_sort(members.begin(), members.end(),
                     [&](int a, int b) { return memory_.slots[a].key < memory_.slots[b].key; });
    if (members[0] == rank_) {
      try {
        found_child(*this, members, memory_limit != 0 ? memory_limit : default_region(*this, members.size()),
                    numbers_for(*this, members.size()), own);
      } catch (const std::exception& error) {
        fail(error.what());
        throw;
      }
    }
  }
  meet();
  if (color < 0) return nullptr;
  return child(members, memory_.slots[members[0]]);
}

std::unique_ptr<Communicator> Communicator::create_group(const std::vector<int>& members, int tag,
                                                         std::size_t memory_limit) {
  check_process();
  std::vector<bool> seen(static_cast<std::size_t>(size_), false);
  for (const int member : members) {
    if (member < 0 || member >= size_ || seen[static_cast<std::size_t>(member)])
      throw ArgumentError("members", std::to_string(member),
                          "each of 0.." + std::to_string(size_ - 1) + " once");
    seen[static_cast<std::size_t>(member)] = true;
  }
  if (tag < 0) throw ArgumentError("tag", std::to_string(tag), "0.." + std::to_string(INT32_MAX));
  if (!seen[static_cast<std::size_t>(rank_)])
    throw ArgumentError("members", "none that is the calling rank", "a list with it");
  // The first member makes the memory and tells the others, with a tag that no receive of a user's takes.
  const int private_tag = -2 - tag % (INT32_MAX - 2);
  SplitSlot slot = SplitSlot();
  if (members[0] == rank_) {
    try {
      // It is one of several parts, and nobody knows of how many: as large as one of four.
      const std::size_t usual = region_for(*this, members.size(), 4, room_for_parts(heap_));
      found_child(*this, members, memory_limit != 0 ? memory_limit : usual,
                  numbers_for(*this, members.size()), slot);
    } catch (const std::exception& error) {
      fail(error.what());
      throw;
    }
    for (std::size_t i = 1; i < members.size(); ++i)
      exchange(&slot, sizeof slot, members[i], private_tag, true);
  } else {
    exchange(&slot, sizeof slot, members[0], private_tag, false);
  }
  return child(members, slot);
}

// Makes a second communicator of these ranks. The first rank to come makes its memory and decides for all
// ranks of this attempt: all get a twin or all get an error, and the group stays whole. The
// control's word is
//
// - 0, or 4n + 1: the first n attempts, counted by each rank, have found no memory;
// - 4n + 2: a rank is at the n-th; others wait, as for the heap's lock;
// - a block's offset, a multiple of 4: the memory, with the number of its attempt. A later
//   one means that this one failed.
std::unique_ptr<Communicator> Communicator::twin(Nonblocking& nonblocking) {
  std::vector<int> members(static_cast<std::size_t>(size_));
  std::iota(members.begin(), members.end(), 0);
  const auto slot_at = [this](std::uint64_t block) -> SplitSlot& {
    return *reinterpret_cast<SplitSlot*>(memory_.control->at(block) + ChildLayout::slots_offset(size_));
  };
  std::atomic<std::uint64_t>& decided = memory_.control->nonblocking().atomic();
  const std::uint64_t attempt = ++twins_asked_;
  const std::size_t region_bytes = region_for(*this, members.size(), 1, room_for_parts(heap_));
  SplitSlot slot = SplitSlot();
  slot.asked = ChildLayout::region_offset(size_) + GroupLayout::round_up(region_bytes);
  slot.free = heap_.free_bytes();
  try {
    for (;;) {
      // Acquire: whoever sees the offset sees all that was written there before the release below.
      std::uint64_t word = decided.load(std::memory_order_acquire);
      if (word % 4 == 1 && word / 4 >= attempt) break;
      if (word != 0 && word % 4 == 0) {
        if (slot_at(word).attempt == attempt) slot = slot_at(word);
        break;
      }
      if (word % 4 == 2) {
        memory_.control->check_broken(rank_);
        sched_yield();
      } else if (decided.compare_exchange_strong(word, 4 * attempt + 2, std::memory_order_acquire)) {
        // The rank may come before or after this communicator learns. A call that does not wait never learns.
        found_child(*this, members, region_bytes, not_to_learn(first_numbers_), slot);
        slot.attempt = attempt;
        if (slot.block != 0) slot_at(slot.block) = slot;
        decided.store(slot.block != 0 ? slot.block : 4 * attempt + 1, std::memory_order_release);
        break;
      }
    }
  } catch (const std::exception& error) {
    fail(error.what());  // the others may have theirs
    throw;
  }
  return child(members, slot, &nonblocking);
}

std::unique_ptr<Communicator> Communicator::child(const std::vector<int>& members, const SplitSlot& slot,
                                                  Nonblocking* nonblocking) {
  if (slot.block == 0)
    throw ResourceError("heap_limit: a sub-communicator needs " + std::to_string(slot.asked) +
                        " bytes of the group's shared heap, of which " + std::to_string(slot.free) +
                        " are free; raise heap_limit, give memory_limit here, or free what is not used");
  const int ranks = static_cast<int>(members.size());
  const auto rank = static_cast<int>(std::find(members.begin(), members.end(), rank_) - members.begin());
  GroupMemory memory;
  memory.block = memory_.control->at(slot.block);
  memory.control = reinterpret_cast<Control*>(memory.block);
  memory.slots = reinterpret_cast<SplitSlot*>(memory.block + ChildLayout::slots_offset(ranks));
  memory.sync = memory.block + ChildLayout::sync_offset(ranks);
  memory.region = memory.block + ChildLayout::region_offset(ranks);
  memory.region_bytes = slot.region_bytes;
  memory.used_before = slot.used_before;
  memory.learned = memory_.learned;
  memory.heap = memory_.heap;
  memory.work = memory_.work;
  memory.nonblocking = nonblocking;
  memory.reserve_heap = memory_.reserve_heap;
  if (memory_.reserve_heap) {
    const Heap heap(*memory.control, root_rank(), memory_.heap, memory_.reserve_heap);
    unsigned char* const region = memory.region;
    memory.reserve = [heap, region](std::size_t offset, std::size_t bytes) {
      heap.reserve(region + offset, bytes);
    };
  }
  const auto& host = *reinterpret_cast<const HostNumbers*>(memory.block + ChildLayout::host_offset(ranks));
  try {
    return std::unique_ptr<Communicator>(
        new Communicator(memory, rank, shape_of(shape_, members, host), wait_));
  } catch (const std::exception& error) {
    fail(error.what());  // this rank's own trouble; the others have their communicator
    throw;
  }
}

}  // namespace phicoll
