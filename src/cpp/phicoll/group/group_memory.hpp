#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "phicoll/group/heap.hpp"
#include "phicoll/group/split_slot.hpp"
#include "phicoll/memory/control.hpp"

namespace phicoll {

class LearnedNumbers;
class Nonblocking;
class RankWork;

/// What all ranks of a group share, as this process sees it.
struct GroupMemory {
  Control* control;
  unsigned char* sync;    ///< the memory of the group's own barrier, zeroed
  unsigned char* region;  ///< zeroed
  std::size_t region_bytes;
  /// Takes the pages of a part of the region now; throws ResourceError if there are none. Null: a first touch
  /// takes them.
  std::function<void(std::size_t offset, std::size_t bytes)> reserve;
  SplitSlot* slots = nullptr;          ///< one for each rank
  LearnedNumbers* learned = nullptr;   ///< the whole group's
  unsigned char* heap = nullptr;       ///< the whole group's; null: there is none
  Heap::Reserve reserve_heap;          ///< as Heap takes it
  std::size_t used_before = 0;         ///< the region's first bytes that may not be zero
  unsigned char* block = nullptr;      ///< a sub-communicator's, given back to the heap at its end
  std::shared_ptr<RankWork> work;      ///< what the rank's communicators have begun; null: a new one
  Nonblocking* nonblocking = nullptr;  ///< whose calls are made here; null: the program's own are
};

}  // namespace phicoll
