#pragma once

// The part of a group's shared memory that every rank's port looks at: is the group broken, is anyone asleep,
// who runs where. Position independent, valid when zeroed, the same in threads and in processes.

#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/memory/word.hpp"

namespace phicoll {

constexpr int max_ranks = 1024;
/// "Whoever comes": the awaited rank is not one known rank.
constexpr int any_rank = -1;

/// Sleepers do not sleep on the flags (a flag may be a byte, or share its line with other writers) but on one
/// of these, chosen by a hash of the flag's place. `sequence` is the futex word.
struct alignas(arch::stride_bytes) ParkingSlot {
  Word<std::uint32_t> sleepers;
  Word<std::uint32_t> sequence;
};

class alignas(arch::stride_bytes) Control {
 public:
  static constexpr unsigned slots = 64;

  /// What the group fixes before any rank waits. `shared` is true between processes; `crowded` when ranks
  /// outnumber the CPUs that they may use; `timeout_ns` bounds every single wait, 0 for never.
  void configure(int ranks, bool shared, bool crowded, std::int64_t timeout_ns);
  /// The CPU that `rank` is pinned to, or -1 for unknown. Once for each rank, before the ranks start to wait.
  void set_cpu(int rank, int cpu);
  int cpu(int rank) const { return cpus_[rank]; }
  bool same_cpu(int a, int b) const { return cpus_[a] >= 0 && cpus_[a] == cpus_[b]; }
  /// Whether another rank is pinned to `rank`'s CPU.
  bool shares_cpu(int rank) const { return shares_[rank] != 0; }

  /// The group's memory goes on to `bytes` behind the start of this object, at the same offsets for all
  /// ranks.
  void set_memory(std::size_t bytes) { memory_bytes_ = bytes; }
  /// Whether a range lies in the group's memory, where every rank reaches it.
  bool holds(const void* pointer, std::size_t bytes) const {
    const std::uint64_t offset = offset_of(pointer);
    return offset < memory_bytes_ && bytes <= memory_bytes_ - offset;
  }
  std::uint64_t offset_of(const void* pointer) const {
    return reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(this);
  }
  unsigned char* at(std::uint64_t offset) {
    return reinterpret_cast<unsigned char*>(this) + static_cast<std::size_t>(offset);
  }
  /// The process of a rank, for copies between processes.
  void set_pid(int rank, std::int32_t pid) { pids_[rank] = pid; }
  std::int32_t pid(int rank) const { return pids_[rank]; }
  /// Whether every rank can read and write every other's memory by the kernel's help: tried by each ordered
  /// pair when the group came together.
  void set_cross_copies(bool allowed) { cross_copies_ = allowed ? 1 : 0; }
  bool cross_copies() const { return cross_copies_ != 0; }

  int ranks() const { return ranks_; }
  bool shared() const { return shared_ != 0; }
  bool crowded() const { return crowded_ != 0; }
  std::int64_t timeout_ns() const { return timeout_ns_; }

  /// Marks the group broken; the first cause stays. Wakes every sleeper. Async-signal-safe but for the text's
  /// copy.
  void break_group(int rank, const char* reason, bool timed_out = false);
  bool broken() const { return broken_.atomic().load(std::memory_order_acquire) == 2; }
  /// Throws BrokenGroupError (or TimeoutError on the rank that timed out) if the group is broken.
  void check_broken(int self) const;
  /// `rank` will make no call after its first `calls`.
  void leave(int rank, std::uint64_t calls);
  bool has_left(int rank) const { return left_after_[rank].atomic().load(std::memory_order_acquire) != 0; }
  /// Breaks the group if a rank left before the call number `call`, which a rank waits in: that wait would
  /// never end.
  void check_left(std::uint64_t call);
  int broken_rank() const { return broken_rank_; }
  std::string broken_reason() const { return std::string(broken_reason_); }

  /// Is any rank asleep, or about to be? Read after every signal: one line that is written only when a rank
  /// goes to sleep.
  bool anyone_parked() const { return parked_.atomic().load(std::memory_order_relaxed) != 0; }
  ParkingSlot& slot_of(const void* place) {
    const auto offset = static_cast<std::uintptr_t>(static_cast<const unsigned char*>(place) -
                                                    reinterpret_cast<const unsigned char*>(this));
    const auto line = offset / arch::line_bytes;
    return slots_[(line ^ (line >> 6)) % slots];
  }
  Word<std::uint32_t>& parked() { return parked_; }
  void wake_everyone();

 private:
  Word<std::uint32_t> parked_;
  unsigned char pad_[arch::stride_bytes - sizeof(std::uint32_t)];
  Word<std::uint32_t> broken_;  // 0 whole, 1 the cause is being written, 2 broken
  std::int32_t broken_rank_;
  std::int32_t timed_out_;
  char broken_reason_[228];
  std::int32_t ranks_;
  std::int32_t shared_;
  std::int32_t crowded_;
  std::int64_t timeout_ns_;
  Word<std::uint32_t> left_;  // how many ranks have left
  Word<std::uint64_t>
      left_after_[max_ranks];  // calls made by a rank that left, plus one; 0 while it is there
  std::uint64_t memory_bytes_;
  std::int32_t cross_copies_;
  std::int32_t pids_[max_ranks];
  std::int16_t cpus_[max_ranks];
  std::uint8_t shares_[max_ranks];
  ParkingSlot slots_[slots];
};

}  // namespace phicoll
