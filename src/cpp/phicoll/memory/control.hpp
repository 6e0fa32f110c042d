#pragma once

// The part of a group's shared memory that every rank's port looks at: whether the group is broken, whether
// any rank is asleep, and which CPU each rank runs on. Position independent, valid when zeroed, the same for
// threads and processes.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/memory/call_board.hpp"
#include "phicoll/memory/untrusted.hpp"
#include "phicoll/memory/wait_board.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

class CopyDesk;

constexpr int max_ranks = 1024;
/// The awaited rank is not one known rank: any rank may signal.
constexpr int any_rank = -1;

/// Sleepers do not sleep on the flags (a flag may be a byte, or share its line with other writers) but on one
/// of these slots, chosen by a hash of the flag's line. `sequence` is the futex word. A signal of another
/// line wakes nobody unless sleepers of several lines are in the slot. Otherwise messages between two ranks
/// would often wake others from a barrier.
struct alignas(arch::stride_bytes) ParkingSlot {
  void add_sleeper(std::uint64_t line) {
    change([line](std::uint64_t now) {
      const std::uint64_t own = line % several;
      return (now % counts == 0 || now / counts == own ? own : several) * counts + now % counts + 1;
    });
  }
  void remove_sleeper() {
    change([](std::uint64_t now) { return now % counts == 1 ? 0 : now - 1; });
  }
  /// Whether a rank may be asleep that waits for a word in this line.
  bool has_sleeper(std::uint64_t line) const {
    const std::uint64_t now = sleepers_.atomic().load(std::memory_order_acquire);
    return now != 0 && (now / counts == several || now / counts == line % several);
  }

  Word<std::uint32_t> sequence;

 private:
  static constexpr std::uint64_t counts = std::uint64_t{1} << 16;
  static constexpr std::uint64_t several = (std::uint64_t{1} << 48) - 1;
  template <class Next>
  void change(const Next& next) {
    std::uint64_t now = sleepers_.atomic().load(std::memory_order_relaxed);
    // seq_cst: a sleeper's mark is ordered before its last look.
    while (!sleepers_.atomic().compare_exchange_weak(now, next(now), std::memory_order_seq_cst)) {
    }
  }

  Word<std::uint64_t> sleepers_;  // how many, and above that the line they wait for, or `several`
};

class alignas(arch::stride_bytes) Control {
 public:
  static constexpr unsigned slots = 64;

  /// Bytes of a child's control.
  static std::size_t child_bytes(int ranks) {
    return arch::whole_strides(sizeof(Control) - sizeof(OfRoot) -
                               static_cast<std::size_t>(max_ranks - ranks) * sizeof(Member));
  }

  /// Sets what must be known before any rank waits. `shared`: the ranks are processes. `cpus`: how many CPUs
  /// they may use; 0: enough. `timeout_ns` bounds every single wait; 0: no bound.
  void configure(int ranks, bool shared, int cpus, std::int64_t timeout_ns);
  /// The same for a group of some of `parent`'s ranks, in this order. It lies in the same memory as `parent`,
  /// and the two break together.
  void configure_child(Control& parent, const std::vector<int>& members);

  /// The control of the whole group that this group's ranks belong to; the object itself unless it is a
  /// child. Only the root records that the group is broken, so that one break ends the waits of all.
  Control& root() {
    return *reinterpret_cast<Control*>(reinterpret_cast<unsigned char*>(this) - behind_root_);
  }
  const Control& root() const {
    return *reinterpret_cast<const Control*>(reinterpret_cast<const unsigned char*>(this) - behind_root_);
  }
  bool is_root() const { return behind_root_ == 0; }
  /// A rank's number in the whole group, which messages and errors use.
  int root_rank(int rank) const { return is_root() || rank < 0 ? rank : members_[rank].root_rank; }
  /// Sets the CPU that `rank` is pinned to; -1 if unknown. Called once per rank, before the ranks start to
  /// wait.
  void set_cpu(int rank, int cpu);
  int cpu(int rank) const { return members_[rank].cpu; }
  bool same_cpu(int a, int b) const { return cpu(a) >= 0 && cpu(a) == cpu(b); }
  /// Whether another rank is pinned to `rank`'s CPU.
  bool shares_cpu(int rank) const { return members_[rank].shares != 0; }
  /// Notes that `rank`, which is not pinned, is on `cpu` now.
  void note_cpu(int rank, int cpu) {
    const auto here = static_cast<std::uint16_t>((cpu + 1) & ~asleep);
    std::atomic<std::uint16_t>& note = noted(rank);
    if (note.load(std::memory_order_relaxed) != here) note.store(here, std::memory_order_relaxed);
  }
  /// Notes that `rank` sleeps on the CPU where it was last noted, until note_cpu is called.
  void note_asleep(int rank) { noted(rank).fetch_or(asleep, std::memory_order_relaxed); }
  /// Whether two ranks are pinned to one CPU or, where ranks roam, were last noted on one.
  bool beside(int a, int b) const {
    return same_cpu(a, b) || (crowded() && noted_cpu(a) >= 0 && noted_cpu(a) == noted_cpu(b));
  }
  /// Notes that `rank`, which is not pinned, is on `cpu` now. Returns whether `other`, or if that is any_rank
  /// any other rank of this group, was last noted there.
  bool meets(int rank, int other, int cpu);
  /// Better CPUs for `rank`, which is not pinned: those with ranks of the whole group, but at least two fewer
  /// that are awake than on its own. None if a higher rank there may move instead.
  std::vector<int> emptier_cpus(int rank) const;
  /// The CPUs on which ranks of the whole group are pinned or were last noted, if `rank` is the one to leave
  /// its own: not pinned, and the highest such there that is awake. Else none. Notes may be old.
  std::vector<int> cpus_to_leave(int rank) const;
  /// The CPU on which `rank` was last noted; -1: on none.
  int noted_cpu(int rank) const { return (noted(rank).load(std::memory_order_relaxed) & ~asleep) - 1; }

  /// Sets the extent of the group's memory: `bytes` from the start of the root's control, at the same offsets
  /// for all ranks.
  void set_memory(std::size_t bytes) { memory_bytes_ = bytes; }
  /// Whether a range lies in the group's memory, where every rank can reach it. A group and its children
  /// share that memory.
  bool holds(const void* pointer, std::size_t bytes) const {
    const std::uint64_t offset = offset_of(pointer);
    return offset < memory_bytes_ && bytes <= memory_bytes_ - offset;
  }
  /// Offset from the start of the root's control. For an address before it or after the memory, the result
  /// (modulo 2^64) is larger than the memory's size.
  std::uint64_t offset_of(const void* pointer) const {
    return reinterpret_cast<std::uintptr_t>(pointer) - reinterpret_cast<std::uintptr_t>(&root());
  }
  unsigned char* at(std::uint64_t offset) {
    return reinterpret_cast<unsigned char*>(&root()) + static_cast<std::size_t>(offset);
  }

  /// Sets where the ranks note which calls they make: `bytes` after the start of this object; 0 for nowhere.
  void set_board(std::size_t bytes) { board_ = bytes; }
  CallBoard* board() {
    return board_ == 0 ? nullptr
                       : reinterpret_cast<CallBoard*>(reinterpret_cast<unsigned char*>(this) + board_);
  }
  /// Likewise, in a group of processes, the desk for copies that the kernel refuses. Only the root has one.
  void set_desk(std::size_t bytes) { desk_ = bytes; }
  CopyDesk& desk() { return *reinterpret_cast<CopyDesk*>(reinterpret_cast<unsigned char*>(this) + desk_); }
  /// Notes the call that `rank` waits in as a barrier unless it was noted as something else. Then, with
  /// `compare`, breaks the group if another rank's call differs from `rank`'s call of the same number.
  void check_calls(int rank, const CallHistory& calls, bool compare);

  /// Sets the process of a rank, for copies between processes.
  void set_pid(int rank, std::int32_t pid) { members_[rank].pid = pid; }
  std::int32_t pid(int rank) const { return members_[rank].pid; }
  /// Whether every rank can read and write every other rank's memory with the kernel's help. Each ordered
  /// pair tried it when the group was made. What the kernel refuses later is copied at the desk.
  void set_cross_copies(bool allowed) { cross_copies_ = allowed ? 1 : 0; }
  bool cross_copies() const { return cross_copies_ != 0; }

  int ranks() const { return ranks_; }
  bool shared() const { return shared_ != 0; }
  /// Whether there are more ranks than CPUs that they may use.
  bool crowded() const { return crowded_ != 0; }
  /// Whether `rank` changes CPUs all the time: it is not pinned, and there are more ranks than CPUs.
  bool roams(int rank) const { return crowded() && cpu(rank) < 0; }
  /// How many of the whole group's ranks have waited for so long that they hardly need a CPU.
  Word<std::uint32_t>& resting() { return root().resting_; }
  /// Whether long waits show that: with more than two ranks per CPU, ranks with work wait as long for a CPU.
  bool counts_resting() const { return root().ranks_ <= 2 * root().usable_cpus_; }
  /// Whether more of the whole group's ranks need a CPU now than there are CPUs.
  bool crowded_now() const {
    const Control& whole = root();
    const std::uint32_t rest = whole.resting_.atomic().load(std::memory_order_relaxed);
    return static_cast<int>(rest) + whole.usable_cpus_ < whole.ranks_;
  }
  /// Notes that lines of this group's ranks came from far away at `now_ns`.
  void note_far(std::int64_t now_ns) {
    far_ns_.atomic().store(static_cast<std::uint64_t>(now_ns), std::memory_order_relaxed);
  }
  /// When that was last noted; 0: never.
  std::int64_t far_ns() const {
    return static_cast<std::int64_t>(far_ns_.atomic().load(std::memory_order_relaxed));
  }
  std::int64_t timeout_ns() const { return timeout_ns_; }

  /// Marks the group broken and wakes every sleeper. The first cause stays. Async-signal-safe except for the
  /// copy of the text.
  void break_group(int rank, const char* reason, bool timed_out = false);
  bool broken() const { return root().broken_.atomic().load(std::memory_order_acquire) == 2; }

  // The same for the control of a whole group, for processes that are none of its ranks and must survive
  // whatever the ranks write there (group/outside_view.hpp). No value found there is used as an address.
  void break_from_outside(int rank, const char* reason);
  bool broken_from_outside() const { return untrusted(broken_).is(2); }
  int broken_rank_from_outside(int ranks) const {
    return untrusted(broken_rank_).within(0, ranks - 1, any_rank);
  }
  std::string broken_reason_from_outside() const { return untrusted_text(broken_reason_); }
  /// Set once, by the group's maker.
  struct Constants {
    std::int32_t ranks, shared;
    std::uint64_t memory_bytes, behind_root, board;
  };
  bool has(const Constants& constants) const {
    return untrusted(ranks_).is(constants.ranks) && untrusted(shared_).is(constants.shared) &&
           untrusted(memory_bytes_).is(constants.memory_bytes) &&
           untrusted(behind_root_).is(constants.behind_root) && untrusted(board_).is(constants.board);
  }
  Constants constants() const { return {ranks_, shared_, memory_bytes_, behind_root_, board_}; }

  /// Throws BrokenGroupError (or TimeoutError on the rank that timed out) if the group is broken. The error
  /// names the rank by its number in the whole group.
  void check_broken(int self) const;
  /// Notes that `rank` will make no call after those that it has begun. `unwinding`: it leaves because of an
  /// exception, which may yet become the reason why the group is broken. Returns whether all ranks have left
  /// now. If so, only the caller still uses this control, and the group is broken if its ranks did not make
  /// the same calls.
  bool leave(int rank, const CallHistory& calls, bool unwinding = false);
  /// Whether the group, or a part of it, was found to have made different calls when its last rank left. No
  /// rank has raised that error.
  bool ended_at_odds() const { return root().at_odds_.atomic().load(std::memory_order_relaxed) != 0; }
  /// Whether the calling rank is the only one left.
  bool others_have_left() const {
    return ranks_ > 1 &&
           left_.atomic().load(std::memory_order_acquire) == static_cast<std::uint32_t>(ranks_ - 1);
  }
  bool has_left(int rank) const {
    return members_[rank].left_after.atomic().load(std::memory_order_acquire) != 0;
  }
  /// Breaks the group if a rank left before call number `call`, in which another rank waits: that wait would
  /// never end. `waited_long`: a rank that left by an exception counts too.
  void check_left(std::uint64_t call, bool waited_long = true);
  /// Where a rank notes long waits. Only the root's marks are used.
  WaitMark& wait_mark(int rank) { return of_root_.wait_marks[rank]; }
  const WaitMark& wait_mark(int rank) const { return of_root_.wait_marks[rank]; }
  /// Offset in the group's memory of the table for this group's messages; 0 until a rank has made it.
  Word<std::uint64_t>& messages() { return messages_; }
  /// Likewise for the communicator of its nonblocking calls, or how often none could be made
  /// (Communicator::twin).
  Word<std::uint64_t>& nonblocking() { return nonblocking_; }
  int broken_rank() const { return root().broken_rank_; }
  std::string broken_reason() const { return untrusted_text(root().broken_reason_); }

  /// Whether any rank is asleep or about to sleep. Read after every signal: one line, written only when a
  /// rank goes to sleep.
  bool anyone_parked() const { return parked_.atomic().load(std::memory_order_relaxed) != 0; }
  /// The number of a place's line, the same for all ranks.
  std::uint64_t line_of(const void* place) const {
    const auto offset = static_cast<std::uintptr_t>(static_cast<const unsigned char*>(place) -
                                                    reinterpret_cast<const unsigned char*>(this));
    return offset / arch::line_bytes;
  }
  ParkingSlot& slot_of(std::uint64_t line) { return slots_[(line ^ (line >> 6)) % slots]; }
  Word<std::uint32_t>& parked() { return parked_; }
  void wake_everyone(bool shared);

 private:
  static constexpr std::uint16_t asleep = 1 << 15;
  bool noted_asleep(int rank) const { return (noted(rank).load(std::memory_order_relaxed) & asleep) != 0; }
  std::atomic<std::uint16_t>& noted(int rank) { return root().of_root_.noted_cpus[root_rank(rank)].atomic(); }
  const std::atomic<std::uint16_t>& noted(int rank) const {
    return root().of_root_.noted_cpus[root_rank(rank)].atomic();
  }

  std::string left_after(std::uint64_t calls) const;
  void break_whole(int rank, const char* reason, bool timed_out, bool shared);
  void break_by(const CallMismatch& mismatch);
  void compare_calls_of_all(int rank, const CallHistory& calls);

  Word<std::uint32_t> parked_;
  unsigned char pad_[arch::stride_bytes - sizeof(std::uint32_t)];
  Word<std::uint32_t> resting_;
  unsigned char pad_behind_resting_[arch::stride_bytes - sizeof(std::uint32_t)];
  Word<std::uint32_t> broken_;  // 0 whole, 1 the cause is being written, 2 broken
  std::int32_t broken_rank_;
  std::int32_t timed_out_;
  Word<std::uint32_t> at_odds_;
  char broken_reason_[480];
  std::int32_t ranks_;
  std::int32_t shared_;
  std::int32_t crowded_;
  std::int32_t usable_cpus_;
  Word<std::uint64_t> far_ns_;
  std::int64_t timeout_ns_;
  Word<std::uint32_t> left_;  // how many ranks have left
  std::uint64_t memory_bytes_;
  std::uint64_t behind_root_;  // bytes from the root's control to this one
  std::uint64_t board_;
  std::uint64_t desk_;
  Word<std::uint64_t> messages_;
  Word<std::uint64_t> nonblocking_;
  std::int32_t cross_copies_;
  ParkingSlot slots_[slots];

  struct Member {
    // Once the rank has left: 2 * (calls made + 1), plus 1 if it left by an exception. 0 while it is there.
    Word<std::uint64_t> left_after;
    std::uint64_t left_chain;  // a hash of its calls, written before the line above
    std::int32_t pid;
    std::int16_t cpu;
    std::int16_t root_rank;  // of a child's rank
    std::uint8_t shares;
  };
  // A child's memory ends with its last rank's.
  Member members_[max_ranks];
  struct OfRoot {
    Word<std::uint16_t> noted_cpus[max_ranks];  // plus one, and perhaps `asleep`
    WaitMark wait_marks[max_ranks];
  };
  OfRoot of_root_;
};

}  // namespace phicoll
