#pragma once

// Copies between the private memories of a group's processes. The kernel makes them, if it did when the group
// was made. Later it may refuse: a rank calls prctl(PR_SET_DUMPABLE, 0) or setuid, or gets a seccomp filter.
// Then the group's copy desk makes them: a thread of the owner's process copies between its memory and a
// piece of shared memory, so that the owner itself can compute meanwhile. Each copy asks the kernel first,
// since a permission may come back.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

// (1) A customer takes the desk, writes down what it wants, stores whose memory with release, and rings that
//     rank's bell.
// (2) The owner's thread acquires that, copies, and stores `done` with release.
// (3) The customer acquires `done`: the bytes are in the piece, or in the owner's memory.
//
// What the owner's rank stored before it told the customer of its memory happens before (1), and so before
// (2). What it does after the customer has told it of the end happens after (3).

/// In the group's shared memory, valid when zeroed.
class alignas(arch::stride_bytes) CopyDesk {
 public:
  /// Copies `bytes` between `own` and address `remote` of rank `owner` of the whole group, whose process
  /// serves it. Returns 0 or an errno code. Calls `alive` while it waits; if that throws, some of the bytes
  /// may have been copied.
  int copy(int owner, void* own, std::uintptr_t remote, std::size_t bytes, bool write,
           const std::function<void()>& alive);

  /// Whether any rank has used the desk: then each process needs a serving thread.
  bool wanted() const { return wanted_.atomic().load(std::memory_order_acquire) != 0; }
  /// Serves the memory of `rank`, which is the calling process's, until `stop` is set and ring() is called.
  void serve(int rank, const std::atomic<bool>& stop);
  void ring(int rank);

 private:
  // The state: a request is for one rank's process, which alone reads it.
  static constexpr std::uint32_t done = 1;
  static std::uint32_t asked_of(int rank) { return 2 + static_cast<std::uint32_t>(rank); }
  static constexpr std::size_t piece_bytes = std::size_t{32} << 10;

  class Place;
  int copy_own(bool write, std::uintptr_t address, std::size_t bytes);

  Word<std::uint32_t> taken_;  // 1: by a customer
  Word<std::uint32_t> wanted_;
  Word<std::uint32_t> state_;
  // What the customer that holds the desk wants. The owner writes the answer.
  std::int32_t error_;
  std::uint32_t write_;
  std::uint64_t address_;
  std::uint64_t bytes_;
  Word<std::uint32_t> bells_[max_ranks];
  alignas(arch::stride_bytes) unsigned char piece_[piece_bytes];
};

/// Copies `bytes` between `own` and address `remote` in the process of `control`'s rank `owner`, by the
/// kernel or at the desk. Returns 0, else an errno code: EFAULT (not mapped there or here), ESRCH (no such
/// process). `alive` as CopyDesk::copy calls it.
int copy_between_processes(Control& control, int owner, void* own, std::uintptr_t remote, std::size_t bytes,
                           bool write, const std::function<void()>& alive);

}  // namespace phicoll
