#pragma once

// Records which calls the ranks of a group make. Ranks that wait in different calls, or in the same call with
// arguments that do not fit together, then end with an error that says so instead of waiting forever.
//
// Every rank keeps its last calls in lines of its own. A data collective notes its call when it begins (three
// stores into a line that nobody reads meanwhile). A rank notes a barrier only if it waits there for long,
// and only such a rank reads what others have noted.

#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/memory/call_history.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

// A root that has done its part in a call may be thousands of calls ahead of a rank that waits in it forever.
// The root's lines no longer hold that call, but the waiting rank's do. The root finds the mismatch when it
// waits itself, because each rank remembers more of its own calls in private memory (CallHistory).

/// Two ranks whose calls with the same number differ, or whose calls agree but follow others that differ.
struct CallMismatch {
  int rank;  ///< the rank whose call differs from that of most ranks; the higher one of two
  int other;
  std::uint64_t call;
  SignatureWord of_rank;
  SignatureWord of_other;  ///< equal signatures: only the calls before this one differed
};

/// Lies in shared memory and is valid when zeroed. One stride of 128 bytes per rank.
class CallBoard {
 public:
  static constexpr unsigned remembered = 8;
  static constexpr unsigned a_line = 4;
  static std::size_t footprint(int ranks) { return static_cast<std::size_t>(ranks) * sizeof(Calls); }

  /// The place where a call was noted.
  using Noted = Word<std::uint64_t>;
  /// Notes that `rank` begins its call number `call` (1 and up). Called by the rank itself, before it waits
  /// for any other rank in that call. `tag`: 16 bits that stand for all calls up to it (CallHistory::tag).
  Noted& note(int rank, std::uint64_t call, SignatureWord signature, std::uint64_t tag) {
    Entry& entry = calls_of(rank).last[call % remembered];
    // Only this rank writes here. In a loop of one call the entry already has the call's signature, which is
    // right for the old number and for the new one.
    if (__builtin_expect(entry.signature.atomic().load(std::memory_order_relaxed) != signature, 0)) {
      // Releases, which are bare stores on x86. A reader that sees the new signature also sees that the entry
      // no longer holds the old call; a reader that sees the new number also sees the new signature.
      entry.call.atomic().store(0, std::memory_order_relaxed);
      entry.signature.atomic().store(signature, std::memory_order_release);
    }
    entry.call.atomic().store(number(call) | tag << number_bits, std::memory_order_release);
    return entry.call;
  }
  /// Notes that `rank` has finished its call number `call`, which it noted before: in that call it touches no
  /// other rank's memory any more.
  void done(int rank, std::uint64_t call) { done(calls_of(rank).last[call % remembered].call); }
  static void done(Noted& noted) {
    // Release: a rank that sees it may free what this rank has read. No other rank writes here.
    noted.atomic().store(noted.atomic().load(std::memory_order_relaxed) | is_done, std::memory_order_release);
  }
  /// One of `rank`'s `remembered` entries, `a_line` to a line. Takes one read.
  std::uint64_t noted(int rank, unsigned entry) const {
    return calls_of(rank).last[entry].call.atomic().load(std::memory_order_relaxed);
  }
  /// Whether `rank` has noted a call as late as number `call`.
  bool has_come_to(int rank, std::uint64_t call) const {
    for (unsigned entry = 0; entry < remembered; ++entry)
      if (number(noted(rank, entry)) >= number(call)) return true;
    return false;
  }
  /// Whether `rank` has noted its call number `call`, which is not a barrier, and has not finished it.
  bool inside(int rank, std::uint64_t call) const {
    const Entry& entry = calls_of(rank).last[call % remembered];
    const std::uint64_t noted = entry.call.atomic().load(std::memory_order_acquire);
    return number(noted) == number(call) && (noted & is_done) == 0 &&
           entry.signature.atomic().load(std::memory_order_relaxed) != 0;
  }
  /// The number of the call that `rank` is in, if that call was noted; otherwise 0.
  std::uint64_t inside(int rank) const;
  /// Notes the call as a barrier unless it was already noted.
  void note_barrier(int rank, std::uint64_t call, std::uint64_t tag) {
    if (number(calls_of(rank).last[call % remembered].call.atomic().load(std::memory_order_relaxed)) !=
        number(call))
      note(rank, call, 0, tag);
  }
  /// Compares what `rank` has noted, and what its `history` holds, with what all others have noted. Finds the
  /// earliest call in which they differ, or else the earliest one before which they did.
  bool find_mismatch(int rank, int ranks, CallMismatch* found, const CallHistory* history = nullptr) const;
  /// Describes the mismatch in words; the ranks are named `rank` and `other`.
  static std::string describe(const CallMismatch& mismatch, int rank, int other);

  /// Puts a signature into words and says what of it differs from another. Supplied by the layer that packs
  /// signatures.
  using Describe = std::string (*)(SignatureWord signature, SignatureWord other);
  static void set_describe(Describe describe);

 private:
  static constexpr std::uint64_t is_done = std::uint64_t{1} << 63;
  // Numbers wrap around after a month of calls of 20 ns. Of a longer history, only the last calls on the
  // boards are compared.
  static constexpr unsigned number_bits = 47;
  static std::uint64_t number(std::uint64_t call) { return call & ((std::uint64_t{1} << number_bits) - 1); }
  static std::uint64_t tag_of(std::uint64_t noted) { return (noted & ~is_done) >> number_bits; }

  struct Entry {
    Word<std::uint64_t> call;  // its number, the tag, is_done
    Word<std::uint64_t> signature;
  };
  struct alignas(arch::stride_bytes) Calls {
    Entry last[remembered];
  };
  static_assert(sizeof(Calls) == arch::stride_bytes, "a rank's calls fill one stride");
  static_assert(a_line * sizeof(Entry) == arch::line_bytes, "entries fill lines");

  bool read(int rank, std::uint64_t call, SignatureWord* signature, std::uint64_t* tag) const;

  // There are as many of these as ranks.
  Calls& calls_of(int rank) { return reinterpret_cast<Calls*>(this)[rank]; }
  const Calls& calls_of(int rank) const { return reinterpret_cast<const Calls*>(this)[rank]; }
};

}  // namespace phicoll
