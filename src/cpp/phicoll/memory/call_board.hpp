#pragma once

// Which calls the ranks of a group make: so that ranks that wait in different calls, or in the same call with
// arguments that do not fit together, end with an error that says so instead of waiting for ever.
//
// Every rank keeps its last calls in lines of its own. A data collective notes its call when it begins (three
// stores into a line that nobody reads meanwhile); a barrier is noted only by a rank that waits in it for
// long, and only such a rank reads what the others have noted.
//
// A root whose part in a call is done may be thousands of calls ahead of a rank that waits in it for ever.
// Its lines hold that call no more, but the waiting rank's do: the root finds it when it waits itself, as
// each rank remembers more of its own calls in memory of its own (CallHistory).

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "phicoll/memory/word.hpp"

namespace phicoll {

/// What must be the same on all ranks in one call, packed: see CallSignature in collectives/. 0 is a
/// barrier's.
using SignatureWord = std::uint64_t;

/// Two ranks whose calls of the same number are not the same.
struct CallMismatch {
  int rank;  ///< whose call differs from that of most ranks; the higher one of two
  int other;
  std::uint64_t call;
  SignatureWord of_rank;
  SignatureWord of_other;
};

/// What one rank has called, in its own memory, for itself: runs of calls with one signature, so that a loop
/// of the same call writes one line only. (An entry for each call made a small broadcast a third slower.)
class CallHistory {
 public:
  /// Runs, hence calls at least. A ring has 4,096 cells at most, so a rank is no further ahead by calls of
  /// one algorithm. Calls of several, and such as move nothing, add up: who is further ahead is found out
  /// when it leaves, if not before.
  static constexpr std::uint64_t remembered = 8192;

  CallHistory() : runs_(static_cast<Run*>(std::calloc(remembered, sizeof(Run)))) {}
  CallHistory(CallHistory&&) = delete;
  CallHistory& operator=(CallHistory&&) = delete;

  /// Collective calls begun so far; they are counted from 1.
  std::uint64_t begun() const { return begun_; }
  /// Begins a call that is not remembered (a barrier, which nobody leaves ahead of others), or one that is.
  std::uint64_t begin() { return ++begun_; }
  std::uint64_t begin(SignatureWord signature) {
    ++begun_;
    if (__builtin_expect(newest_ == nullptr, 0)) return begun_;
    if (newest_->signature == signature && newest_->last + 1 == begun_) {
      newest_->last = begun_;
    } else {
      newest_ = newest_ + 1 == runs_.get() + remembered ? runs_.get() : newest_ + 1;
      *newest_ = Run{begun_, begun_, signature};
    }
    return begun_;
  }
  bool find(std::uint64_t call, SignatureWord* signature) const {
    const auto newest = static_cast<std::uint64_t>(newest_ - runs_.get());
    for (std::uint64_t back = 0; newest_ != nullptr && back < remembered; ++back) {
      const Run& run = runs_[(newest + remembered - back) % remembered];
      if (run.last < call) return false;
      if (run.first > call) continue;
      *signature = run.signature;
      return true;
    }
    return false;
  }

 private:
  struct Run {
    std::uint64_t first;
    std::uint64_t last;
    SignatureWord signature;
  };
  struct Freed {
    void operator()(Run* memory) const { std::free(memory); }
  };
  std::uint64_t begun_ = 0;
  std::unique_ptr<Run[], Freed> runs_;  // null where there was no memory
  Run* newest_ = runs_.get();
};

/// In shared memory, valid when zeroed: a stride of 128 bytes for each rank.
class CallBoard {
 public:
  static constexpr unsigned remembered = 8;
  static constexpr unsigned a_line = 4;
  static std::size_t footprint(int ranks) { return static_cast<std::size_t>(ranks) * sizeof(Calls); }

  /// Where a call was noted.
  using Noted = Word<std::uint64_t>;
  /// `rank` begins its call number `call` (1 and up). By the rank itself, before it waits for anyone in it.
  Noted& note(int rank, std::uint64_t call, SignatureWord signature) {
    Entry& entry = calls_of(rank).last[call % remembered];
    // Releases, which are bare stores on x86: a reader that sees the new signature also sees that the entry
    // is not the old call's any more, and one that sees the new number sees the new signature.
    entry.call.atomic().store(0, std::memory_order_relaxed);
    entry.signature.atomic().store(signature, std::memory_order_release);
    entry.call.atomic().store(call, std::memory_order_release);
    return entry.call;
  }
  /// `rank` is through with its call number `call`, which it has noted: it touches no other rank's memory any
  /// more in that call.
  void done(int rank, std::uint64_t call) { done(calls_of(rank).last[call % remembered].call, call); }
  static void done(Noted& noted, std::uint64_t call) {
    // Release: who sees it may free what this rank has read.
    noted.atomic().store(call | is_done, std::memory_order_release);
  }
  /// What lies in one of `rank`'s `remembered` entries, of which `a_line` share a line. One read.
  std::uint64_t noted(int rank, unsigned entry) const {
    return calls_of(rank).last[entry].call.atomic().load(std::memory_order_relaxed);
  }
  /// Whether `rank` has noted its call number `call`, no barrier, and is not through with it.
  bool inside(int rank, std::uint64_t call) const {
    const Entry& entry = calls_of(rank).last[call % remembered];
    return entry.call.atomic().load(std::memory_order_acquire) == call &&
           entry.signature.atomic().load(std::memory_order_relaxed) != 0;
  }
  /// Notes the call as a barrier unless it was noted already.
  void note_barrier(int rank, std::uint64_t call) {
    if (number(calls_of(rank).last[call % remembered].call.atomic().load(std::memory_order_relaxed)) != call)
      note(rank, call, 0);
  }
  /// Compares what `rank` has noted, and what its `history` holds, with what all others have noted: the
  /// earliest call in which they differ.
  bool find_mismatch(int rank, int ranks, CallMismatch* found, const CallHistory* history = nullptr) const;
  /// In words, with the ranks named as `rank` and `other`.
  static std::string describe(const CallMismatch& mismatch, int rank, int other);

  /// Puts a signature into words; by the layer that packs them.
  using Describe = std::string (*)(SignatureWord signature);
  static void set_describe(Describe describe);

 private:
  static constexpr std::uint64_t is_done = std::uint64_t{1} << 63;
  static std::uint64_t number(std::uint64_t call) { return call & ~is_done; }

  struct Entry {
    Word<std::uint64_t> call;  // its number, with is_done
    Word<std::uint64_t> signature;
  };
  struct alignas(arch::stride_bytes) Calls {
    Entry last[remembered];
  };
  static_assert(sizeof(Calls) == arch::stride_bytes, "a rank's calls fill one stride");
  static_assert(a_line * sizeof(Entry) == arch::line_bytes, "entries fill lines");

  bool read(int rank, std::uint64_t call, SignatureWord* signature) const;

  // As many lie here as there are ranks.
  Calls& calls_of(int rank) { return reinterpret_cast<Calls*>(this)[rank]; }
  const Calls& calls_of(int rank) const { return reinterpret_cast<const Calls*>(this)[rank]; }
};

}  // namespace phicoll
