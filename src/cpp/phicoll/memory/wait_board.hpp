#pragma once

// Where ranks note long waits, so that ranks which wait for each other in a circle end with an error.
//
// A rank whose wait lasts for milliseconds begins a mark, and adds one to its `looks` each time that it has looked at all
// that could end the wait. A mark's number is odd while the rank waits and never comes again.
//
// Why a group is stuck if each rank's mark, or its leaving, was seen at time T, and later the same marks with at least two
// more looks:
//
//  1. Between the two sights each rank was in the wait that was seen at T, as a new wait has another number. So no rank sent
//     anything meanwhile.
//  2. What a rank sent before T it stored before its mark, with release. Whoever saw the mark, with acquire, could have seen
//     the message too, and so could every other rank from then on (all machines here are multi-copy atomic).
//  3. Of the two looks, the second began after T. It saw all messages there are, and did not end the wait.

#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/memory/word.hpp"

namespace phicoll {

/// What a rank waits for.
struct WaitNote {
  enum class Kind : std::uint8_t { collective, receive, send, requests };
  Kind kind = Kind::collective;
  std::int32_t peer = -1;  ///< in the whole group; -1: any
  std::int32_t tag = -1;   ///< -1: any
  std::uint64_t call = 0;  ///< the number of a collective call
};

/// One rank's mark. Written by that rank alone; valid when zeroed.
class WaitMark {
 public:
  /// Notes one more look in vain; the first of a wait begins its mark.
  void look(const WaitNote& note) {
    if (!waiting(wait_.atomic().load(std::memory_order_relaxed))) begin(note);
    looks_.atomic().fetch_add(1, std::memory_order_release);
  }
  void end() {
    const std::uint64_t wait = wait_.atomic().load(std::memory_order_relaxed);
    if (waiting(wait)) wait_.atomic().store(wait + 1, std::memory_order_release);
  }

  struct Seen {
    std::uint64_t wait = 0;
    std::uint64_t looks = 0;
    bool left = false;
  };
  Seen seen() const {
    Seen found;
    found.wait = wait_.atomic().load(std::memory_order_acquire);
    found.looks = looks_.atomic().load(std::memory_order_acquire);
    return found;
  }
  static bool waiting(std::uint64_t wait) { return (wait & 1) != 0; }
  /// "waits for a message from rank 2 with tag 7"
  std::string in_words() const;

 private:
  void begin(const WaitNote& note) {
    const auto peer = static_cast<std::uint32_t>(note.peer);
    const auto tag = static_cast<std::uint32_t>(note.tag);
    kind_.atomic().store(static_cast<std::uint32_t>(note.kind), std::memory_order_relaxed);
    what_.atomic().store(
        note.kind == WaitNote::Kind::collective ? note.call : std::uint64_t{peer} << 32 | tag,
        std::memory_order_relaxed);
    wait_.atomic().store(wait_.atomic().load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  Word<std::uint64_t> wait_;
  Word<std::uint64_t> looks_;
  Word<std::uint64_t> what_;
  Word<std::uint32_t> kind_;
};

class Control;

/// One rank's search for such a circle, in waits for messages.
class StuckSearch {
 public:
  /// What the rank waits for.
  WaitNote note;

  /// Called between two looks of a wait that has lasted so long. Breaks the group if all its ranks wait or have left, or if
  /// the rank that this one waits for has left.
  void check(Control& control, int rank, std::int64_t waited_ns);

 private:
  std::uint64_t wait_ = 0;            // the number of the wait that the rest is about
  bool peer_had_left_ = false;        // at the check before
  std::vector<WaitMark::Seen> seen_;  // at the last sight of a group that may be stuck
};

}  // namespace phicoll
