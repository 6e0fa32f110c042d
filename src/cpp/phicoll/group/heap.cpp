#include "phicoll/group/heap.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <string>
#include <utility>

#include "phicoll/errors.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/shared_memory.hpp"

namespace phicoll {

namespace {

constexpr std::size_t least_unit = 256;
// A larger heap has larger units: its bitmaps stay below 1 MB, and a search below a fraction of a
// millisecond.
constexpr std::size_t most_units = std::size_t{1} << 22;
// The bitmaps grow by a page each.
constexpr std::size_t units_a_step = page_bytes * 8;

std::size_t round_up(std::size_t bytes, std::size_t to) {
  return (bytes + to - 1) / to * to;
}

std::size_t unit_bytes(std::size_t bytes) {
  std::size_t unit = least_unit;
  while (bytes / unit > most_units) unit *= 2;
  return unit;
}

std::size_t map_bytes(std::size_t bits) {
  return round_up(round_up(bits, 64) / 8, page_bytes);
}

bool bit(const std::uint64_t* map, std::size_t at) {
  return (map[at / 64] >> (at % 64) & 1) != 0;
}

/// The first bit of [from, end) that is `value`, or `end`.
std::size_t next_bit(const std::uint64_t* map, std::size_t from, std::size_t end, bool value) {
  const std::uint64_t flip = value ? 0 : ~std::uint64_t{0};
  while (from < end) {
    const std::uint64_t word = (map[from / 64] ^ flip) >> (from % 64);
    if (word != 0) return std::min(end, from + static_cast<std::size_t>(__builtin_ctzll(word)));
    from = (from / 64 + 1) * 64;
  }
  return end;
}

void set_bits(std::uint64_t* map, std::size_t from, std::size_t end, bool value) {
  while (from < end) {
    const std::size_t upto = std::min(end, (from / 64 + 1) * 64);
    const std::size_t count = upto - from;
    const std::uint64_t ones = count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
    const std::uint64_t mask = ones << (from % 64);
    map[from / 64] = value ? map[from / 64] | mask : map[from / 64] & ~mask;
    from = upto;
  }
}

}  // namespace

/// The first page of the heap. Units are numbered from the start of the data.
struct Heap::Header {
  Strided<Word<std::uint32_t>> lock;  // the holder's rank plus one
  std::uint64_t unit;                 // bytes of one
  std::uint64_t units;                // all there are
  std::uint64_t known;                // units that the bitmaps' taken pages describe
  std::uint64_t touched;              // pages from here on were never used
  std::uint64_t low;                  // before this none is free
  Word<std::uint64_t> free;           // units that no block has
  Word<std::uint64_t> of_parts;       // units of sub-communicators' blocks
  std::uint64_t used_at;              // bytes from the heap's start
  std::uint64_t first_at;
  std::uint64_t pages_at;
  std::uint64_t data_at;
};

/// No rank waits for a holder that died: its death breaks the group.
class Heap::Lock {
 public:
  explicit Lock(const Heap& heap) : word_(heap.header().lock.value.atomic()) {
    const auto mine = static_cast<std::uint32_t>(heap.rank_ + 1);
    std::int64_t started = 0;
    for (unsigned turn = 0;; ++turn) {
      std::uint32_t nobody = 0;
      // Acquire: sees all that the previous holder did to the maps.
      if (word_.compare_exchange_weak(nobody, mine, std::memory_order_acquire, std::memory_order_relaxed))
        return;
      // A holder keeps the lock for some microseconds, unless it loses its CPU or asks the system for pages.
      if (turn < 64) {
        arch::pause();
        continue;
      }
      heap.control_->check_broken(heap.rank_);
      if (turn < 1024) {
        sched_yield();
        continue;
      }
      const timespec nap = {0, 100000};
      nanosleep(&nap, nullptr);
      const std::int64_t limit = heap.control_->timeout_ns();
      if (limit <= 0) continue;
      const std::int64_t now = os::now_ns();
      if (started == 0) started = now;
      if (now - started > limit)
        heap.control_->break_group(heap.rank_, "waited longer than the group's timeout for the shared heap",
                                   true);
    }
  }
  ~Lock() { word_.store(0, std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  std::atomic<std::uint32_t>& word_;
};

std::size_t Heap::footprint(std::size_t bytes) {
  if (bytes == 0) return 0;
  const std::size_t units = (bytes + unit_bytes(bytes) - 1) / unit_bytes(bytes);
  return page_bytes + 2 * map_bytes(units) + map_bytes(bytes / page_bytes + 1) + footprint_of_data(bytes);
}

std::size_t Heap::footprint_of_data(std::size_t bytes) {
  return round_up(bytes, page_bytes);
}

void Heap::prepare(unsigned char* memory, std::size_t bytes) {
  if (bytes == 0) return;
  Header& h = *reinterpret_cast<Header*>(memory);
  h.unit = unit_bytes(bytes);
  h.units = bytes / h.unit;
  h.free.atomic().store(h.units, std::memory_order_relaxed);
  h.used_at = page_bytes;
  h.first_at = h.used_at + map_bytes((bytes + h.unit - 1) / h.unit);
  h.pages_at = h.first_at + map_bytes((bytes + h.unit - 1) / h.unit);
  h.data_at = h.pages_at + map_bytes(bytes / page_bytes + 1);
}

Heap::Heap(Control& control, int rank, unsigned char* memory, Reserve reserve)
    : control_(&control.root()), rank_(rank), memory_(memory), reserve_(std::move(reserve)) {
  static_assert(sizeof(Header) <= page_bytes, "the header has one page");
}

std::uint64_t* Heap::used() const {
  return reinterpret_cast<std::uint64_t*>(memory_ + header().used_at);
}
std::uint64_t* Heap::first() const {
  return reinterpret_cast<std::uint64_t*>(memory_ + header().first_at);
}
Word<std::uint64_t>* Heap::pages() const {
  return reinterpret_cast<Word<std::uint64_t>*>(memory_ + header().pages_at);
}

std::size_t Heap::bytes() const {
  return memory_ == nullptr ? 0 : header().units * header().unit;
}

std::size_t Heap::free_bytes() const {
  return memory_ == nullptr ? 0 : header().free.atomic().load(std::memory_order_relaxed) * header().unit;
}

std::size_t Heap::part_bytes() const {
  return memory_ == nullptr ? 0 : header().of_parts.atomic().load(std::memory_order_relaxed) * header().unit;
}

Heap::Block Heap::take_part(std::size_t bytes) {
  const Block block = take(bytes, false);
  header().of_parts.atomic().fetch_add(bytes_at(block.at) / header().unit, std::memory_order_relaxed);
  return block;
}

void Heap::give_back_part(void* pointer) {
  header().of_parts.atomic().fetch_sub(bytes_at(pointer) / header().unit, std::memory_order_relaxed);
  give_back(pointer);
}

bool Heap::holds(const void* pointer) const {
  if (memory_ == nullptr) return false;
  const auto at = reinterpret_cast<std::uintptr_t>(pointer);
  const auto data = reinterpret_cast<std::uintptr_t>(memory_ + header().data_at);
  return at >= data && at - data < bytes();
}

/// The first of `units` free units in a row, from a multiple of `step` on; the number of all units if there
/// is none. The caller holds the lock.
std::size_t Heap::find(std::size_t units, std::size_t step) const {
  const Header& h = header();
  std::size_t at = round_up(h.low, step);
  while (at + units <= h.units) {
    // Beyond `touched` all is free, and no bit may be read: its page may not exist.
    const std::size_t end = std::min<std::size_t>(at + units, h.touched);
    const std::size_t taken = next_bit(used(), at, end, true);
    if (taken >= end) return at;
    at = round_up(next_bit(used(), taken + 1, h.touched, false), step);
  }
  return h.units;
}

std::size_t Heap::largest_hole() const {
  const Header& h = header();
  std::size_t largest = h.units - h.touched;
  for (std::size_t at = 0; at < h.touched;) {
    at = next_bit(used(), at, h.touched, false);
    const std::size_t end = next_bit(used(), at, h.touched, true);
    largest = std::max(largest, (end == h.touched ? h.units : end) - at);
    at = end;
  }
  return largest;
}

/// Takes the pages of the bitmaps for `units` units. The caller holds the lock.
void Heap::know(std::size_t units) {
  Header& h = header();
  if (units <= h.known) return;
  const std::size_t upto = round_up(units, units_a_step);
  if (reserve_) {
    reserve_(h.used_at + h.known / 8, (upto - h.known) / 8);
    reserve_(h.first_at + h.known / 8, (upto - h.known) / 8);
    const std::size_t page = h.known * h.unit / page_bytes / 8;
    reserve_(h.pages_at + page, upto * h.unit / page_bytes / 8 - page + 1);
  }
  h.known = upto;
}

Heap::Block Heap::take(std::size_t bytes, bool reserved, std::size_t alignment) {
  if (memory_ == nullptr)
    throw ResourceError("heap_limit: " + std::to_string(bytes) +
                        " bytes of the group's shared heap are needed and it has none; raise heap_limit");
  Header& h = header();
  const std::size_t wanted = std::max<std::size_t>(bytes, 1);
  Block block{nullptr, 0};
  {
    const Lock lock(*this);
    const std::size_t units =
        wanted > h.units * h.unit ? h.units + 1 : (wanted + h.unit - 1) / h.unit;  // + may overflow
    const std::size_t aligned = std::max(wanted >= page_bytes ? page_bytes : 1, alignment);
    const std::size_t step = std::max<std::size_t>(aligned / h.unit, 1);
    const std::size_t at = find(units, step);
    if (at >= h.units)
      throw ResourceError("heap_limit: " + std::to_string(bytes) +
                          " bytes of the group's shared heap are needed and " + std::to_string(free_bytes()) +
                          " of its " + std::to_string(this->bytes()) + " are free, " +
                          std::to_string(largest_hole() * h.unit) +
                          " of them in one piece; raise heap_limit or give something back");
    know(at + units);
    set_bits(used(), at, at + units, true);
    set_bits(first(), at, at + 1, true);
    if (at == h.low) h.low = at + units;
    block.at = memory_ + h.data_at + at * h.unit;
    if (h.touched > at) block.used_before = std::min<std::size_t>(h.touched - at, units) * h.unit;
    h.touched = std::max<std::uint64_t>(h.touched, at + units);
    h.free.atomic().fetch_sub(units, std::memory_order_relaxed);
  }
  if (reserved) try {
      reserve(block.at, wanted);
    } catch (...) {
      give_back(block.at);
      throw;
    }
  return block;
}

void Heap::reserve(const void* from, std::size_t bytes) const {
  const Header& h = header();
  const auto start = static_cast<std::size_t>(static_cast<const unsigned char*>(from) - memory_) - h.data_at;
  const std::size_t end = (start + bytes + page_bytes - 1) / page_bytes;
  const auto taken = [&](std::size_t page) {
    return (pages()[page / 64].atomic().load(std::memory_order_acquire) >> (page % 64) & 1) != 0;
  };
  for (std::size_t page = start / page_bytes; page < end;) {
    if (taken(page)) {
      ++page;
      continue;
    }
    std::size_t upto = page + 1;
    while (upto < end && !taken(upto)) ++upto;
    // A page at the border of two blocks may be asked for twice, which does no harm.
    const std::size_t missing = (upto - page) * page_bytes;
    if (reserve_) {
      reserve_(h.data_at + page * page_bytes, missing);
    } else if (missing >= std::size_t{1} << 20) {
      const std::size_t available = os::memory_available();
      if (missing > available)
        throw ResourceError("heap_limit: " + std::to_string(missing) +
                            " bytes are needed and this machine has " + std::to_string(available) + " left");
    }
    // Release: a rank that sees the mark may store there. Other ranks set their pages' bits in the same
    // words.
    for (; page < upto; ++page)
      pages()[page / 64].atomic().fetch_or(std::uint64_t{1} << (page % 64), std::memory_order_release);
  }
}

/// The block that begins at `pointer`. The caller holds the lock.
Heap::Units Heap::units_at(const void* pointer) const {
  const Header& h = header();
  const auto offset =
      static_cast<std::size_t>(static_cast<const unsigned char*>(pointer) - memory_) - h.data_at;
  const std::size_t at = offset / h.unit;
  if (offset % h.unit != 0 || at >= h.touched || !bit(first(), at))
    throw ArgumentError("pointer", "memory that is not the start of a block of the shared heap",
                        "what allocate returned, once");
  // To the next block's start or the next free unit.
  return {at,
          std::min(next_bit(used(), at + 1, h.touched, false), next_bit(first(), at + 1, h.touched, true))};
}

std::size_t Heap::bytes_at(const void* pointer) const {
  check_holds(pointer);
  const Lock lock(*this);
  const Units block = units_at(pointer);
  return (block.end - block.first) * header().unit;
}

void Heap::give_back(void* pointer) {
  check_holds(pointer);
  Header& h = header();
  const Lock lock(*this);
  const Units block = units_at(pointer);
  set_bits(first(), block.first, block.first + 1, false);
  set_bits(used(), block.first, block.end, false);
  h.low = std::min<std::uint64_t>(h.low, block.first);
  h.free.atomic().fetch_add(block.end - block.first, std::memory_order_relaxed);
}

void Heap::check_holds(const void* pointer) const {
  if (!holds(pointer))
    throw ArgumentError("pointer", "memory outside the shared heap", "what allocate returned, once");
}

}  // namespace phicoll
