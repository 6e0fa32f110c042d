#pragma once

// The shared heap of a group: memory that any rank allocates and frees at any time, for data that the others
// reach without a copy and for sub-communicators.
//
// First fit over a bitmap of units. Free neighbours form one hole without merging. The bitmaps lie apart from
// the blocks, so that neither an overrun block nor a page that is not there yet spoils them.

#include <cstddef>
#include <cstdint>
#include <functional>

#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

/// The unit in which a group's memory is laid out and taken from the machine.
constexpr std::size_t page_bytes = 4096;

/// One rank's view of the heap. Made by each rank for itself; no memory of its own.
class Heap {
 public:
  /// Takes the pages of a part of the heap, counted from its start, or throws ResourceError. Empty: first
  /// touches take them, and the size is only compared with what the machine has left.
  using Reserve = std::function<void(std::size_t offset, std::size_t bytes)>;

  /// Bytes of shared memory for a heap of `bytes`, bitmaps included.
  static std::size_t footprint(std::size_t bytes);
  /// Makes a heap in `footprint(bytes)` zeroed bytes at `memory` (aligned to pages); once, by the group's
  /// maker.
  static void prepare(unsigned char* memory, std::size_t bytes);

  /// `memory` is null for a group without a heap.
  Heap(Control& control, int rank, unsigned char* memory, Reserve reserve);

  struct Block {
    unsigned char* at;
    std::size_t used_before;  ///< so many bytes from `at` may not be zero; what follows is
  };
  /// Takes `bytes`, aligned to 256, or to a page if it is a page or more; 0 counts as 1. Unless `reserved`,
  /// the caller reserves what it uses. Throws ResourceError with what was asked and what is free, and
  /// BrokenGroupError instead of waiting for a rank that died while it held the heap. `alignment`: a power of
  /// two, of the place in the heap; see data_offset().
  Block take(std::size_t bytes, bool reserved = true, std::size_t alignment = 1);
  /// Takes the pages that hold these bytes of a block, unless they were taken before.
  void reserve(const void* from, std::size_t bytes) const;
  /// Frees a block, which any rank may have taken. Throws ArgumentError("pointer") for what is not the start
  /// of a block.
  void give_back(void* pointer);
  /// The same for a sub-communicator's block, which counts in part_bytes().
  Block take_part(std::size_t bytes);
  void give_back_part(void* pointer);

  /// Bytes of the block that begins at `pointer`, at least what was asked for. Throws as give_back.
  std::size_t bytes_at(const void* pointer) const;
  /// Bytes from a heap's start to its data, whose size is `bytes`.
  static std::size_t data_offset(std::size_t bytes) { return footprint(bytes) - footprint_of_data(bytes); }
  bool holds(const void* pointer) const;
  std::size_t bytes() const;
  std::size_t free_bytes() const;
  std::size_t part_bytes() const;

 private:
  struct Header;
  class Lock;
  struct Units {
    std::size_t first, end;
  };
  static std::size_t footprint_of_data(std::size_t bytes);
  Units units_at(const void* pointer) const;
  void check_holds(const void* pointer) const;
  Header& header() const { return *reinterpret_cast<Header*>(memory_); }
  std::uint64_t* used() const;
  std::uint64_t* first() const;
  Word<std::uint64_t>* pages() const;
  std::size_t find(std::size_t units, std::size_t step) const;
  std::size_t largest_hole() const;
  void know(std::size_t units);

  Control* control_;  // the root's
  int rank_;          // in the whole group
  unsigned char* memory_;
  Reserve reserve_;
};

}  // namespace phicoll
