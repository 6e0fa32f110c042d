#pragma once

// One rank of a group: who it is, the memory that the ranks share, and what its calls are served by.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "phicoll/collectives/contract/any_collective.hpp"
#include "phicoll/collectives/contract/spec.hpp"
#include "phicoll/group/group_memory.hpp"
#include "phicoll/group/heap.hpp"
#include "phicoll/group/rank_work.hpp"
#include "phicoll/memory/region.hpp"
#include "phicoll/memory/shape.hpp"
#include "phicoll/os/home_process.hpp"
#include "phicoll/ports/native_port.hpp"

namespace phicoll {

/// The part of a Communicator that is neither collective calls nor messages.
class Member {
 public:
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  const Shape& shape() const { return shape_; }
  const WaitPolicy& wait_policy() const { return wait_; }
  /// This rank's number in the group that it began in.
  int root_rank() const { return memory_.control->root_rank(rank_); }
  /// The number of collective calls that this rank has begun.
  std::uint64_t calls() const { return calls_.begun(); }

  /// @name Shared memory for data
  /// Not collective; a group and all that split from it have one heap (group/heap.hpp).
  /// @{

  /// Allocates memory that all ranks of the group reach, not zeroed, aligned to at least 128 bytes. Throws
  /// ResourceError with what was asked for and what is free. Unless `reserved`, its pages are taken by
  /// reserve() or by first touches.
  void* allocate(std::size_t bytes, bool reserved = true) {
    check_process();
    return heap_.take(bytes, reserved).at;
  }
  /// Takes the pages of a part of what allocate returned. Throws ResourceError if the machine has none left.
  void reserve(const void* from, std::size_t bytes) const { heap_.reserve(from, bytes); }
  /// Frees memory that any rank of the group got from allocate(). Throws ArgumentError("pointer").
  void release(void* pointer) {
    check_process();
    heap_.give_back(pointer);
  }
  /// Whether all of the range is in memory that every rank of the group reaches.
  bool in_shared_memory(const void* pointer, std::size_t bytes) const {
    return memory_.control->holds(pointer, bytes);
  }
  std::size_t heap_bytes() const { return heap_.bytes(); }
  std::size_t heap_free_bytes() const { return heap_.free_bytes(); }
  /// @}

  /// Breaks the group: this rank cannot go on, and the others must not wait for it. They get a
  /// BrokenGroupError that names this rank and the reason.
  void fail(const std::string& reason) {
    check_process();
    memory_.control->break_group(rank_, reason.c_str());
  }
  /// Breaks the group because of an exception, whose first line is the reason.
  void fail(const std::exception& error);
  /// The same in a group of several ranks; a group of one stays usable. First of all, so that no thread goes
  /// on with what the call leaves (Messages::go_on), and those that wait in a call let go of their locks.
  void fail_others(const std::exception& error) {
    if (memory_.control->root().ranks() > 1) fail(error);
  }

  /// Whether the calling process may use the group: the rank's own, or a fork of it if the group has one
  /// rank, in private memory.
  bool in_own_process() const { return home_.here() || has_private_copy(); }
  /// Throws Error otherwise. Every call does it first.
  void check_process() {
    if (__builtin_expect(!home_.here(), 0)) enter_from_fork();
  }

  /// Goes on with all that the rank has begun, on all its communicators, as every call that waits or looks
  /// does. For a program that looks again and again for something beside phicoll. Throws BrokenGroupError.
  void look();
  /// What a port of this rank is to go on with in its waits: the same. It lives as long as this.
  Background& background() const { return *memory_.work; }

  /// Sets a function that is called at every turn of every wait of this rank, on all communicators of its
  /// group, for example for another library's messages, which the awaited rank may need first. It must not
  /// call phicoll. The rank then does not sleep in waits. Null: none.
  void set_progress(void (*progress)());
  /// Sets the interpreter that makes this rank's calls, on all communicators of its group; before any of
  /// them. Null: none.
  void set_interpreter(Interpreter* interpreter);

  /// @name For what serves its calls, in this library
  /// @{

  std::size_t region_bytes() const { return region_.bytes(); }
  /// The region's memory, for measurements that place something else where a barrier would lie, and leave it
  /// zeroed.
  unsigned char* region() const { return memory_.region; }
  Control& control() { return *memory_.control; }
  const GroupMemory& memory() const { return memory_; }
  Heap& heap() { return heap_; }
  const Heap& heap() const { return heap_; }
  /// What is free of the region.
  Region& free_region() { return region_; }
  HandOver& hand_over() { return hand_over_; }
  CallBoard* board() const { return board_; }
  NativePort make_port(const WaitPolicy& wait) {
    NativePort port(*memory_.control, rank_, wait, &calls_, &hand_over_);
    equip(port);
    return port;
  }
  /// Sets what a port goes on with in its waits.
  void equip(NativePort& port) const;
  std::unique_ptr<AnyCollective<NativePort>> made(Operation operation, const AlgorithmSpec& spec,
                                                  const Setup& setup, const WaitPolicy& wait) const;
  /// Takes a part of the region, at byte `place` unless that is null; zeroed. Collective.
  Region::Block take_zeroed(std::size_t bytes, const std::size_t* place);
  /// A call that blocks may never have to wait, and nor may those after it: what the rank has begun goes on
  /// all the same.
  void go_on_in_passing() {
    if (__builtin_expect(begun_->load(std::memory_order_relaxed) != 0, 0)) memory_.work->look_in_passing();
  }
  /// @}

 protected:
  Member(const GroupMemory& memory, int rank, const Shape& shape, const WaitPolicy& wait);
  ~Member() = default;

  /// Before what may wait for other ranks, when nothing of the call has been done yet.
  [[gnu::noinline, gnu::cold]] void begin_to_wait() const;
  /// A barrier of the group's own, which needs no memory of the region.
  void sync();

  GroupMemory memory_;
  int rank_;
  Shape shape_;
  int size_;
  WaitPolicy wait_;
  Region region_;
  NativePort port_;
  std::unique_ptr<AnyCollective<NativePort>> sync_;
  std::vector<bool> reserved_;  // pages of the region
  HandOver hand_over_;
  Heap heap_;

  // What barrier() touches lies side by side, from here to the Communicator's own first members.
  alignas(arch::stride_bytes) CallBoard* board_;  // null: calls are not noted
  const std::atomic<int>* begun_;                 // RankWork::begun(); 0 where nonblocking calls are made
  os::HomeProcess home_;
  CallHistory calls_;

 private:
  bool has_private_copy() const;
  [[gnu::noinline, gnu::cold]] void enter_from_fork();
  void reserve_own_part(const Region::Block& block);
};

}  // namespace phicoll
