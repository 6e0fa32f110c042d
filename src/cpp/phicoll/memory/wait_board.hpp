#pragma once

// Where ranks note long waits. Ranks that can only wait for each other find that out here, and end with an error.
//
// A rank whose wait lasts for milliseconds sets its mark, and adds one to `looks` each time that it has checked everything
// that could end the wait. The mark's number is odd while the rank waits, and no number is used twice.
//
// The group is stuck if every rank had a mark, or had left, at time T, and later has the same mark with at least two more
// looks:
//
//  1. Each rank was in the same wait all the time between, since a new wait has another number. So no rank sent
//     anything.
//  2. A rank stored what it sent before T before its mark, with release. A rank that saw the mark, with acquire, could
//     have seen the message too, and so could every other rank from then on (all machines here are multi-copy atomic).
//  3. Of the two looks, the second began after T. It saw all messages that there are, and did not end the wait.

#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/memory/word.hpp"

namespace phicoll {

/// What a rank waits for.
struct WaitNote {
  enum class Kind : std::uint8_t { collective, receive, send, requests, nonblocking };
  Kind kind = Kind::collective;
  std::int32_t peer = -1;  ///< in the whole group; -1: any
  std::int32_t tag = -1;   ///< -1: any
  std::uint64_t call = 0;  ///< a collective call's number; nonblocking calls are counted apart
};

/// One rank's mark. Written by that rank alone; valid when zeroed.
class WaitMark {
 public:
  /// Notes one more fruitless look. The first look of a wait sets the mark.
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
    what_.atomic().store(note.kind == WaitNote::Kind::collective || note.kind == WaitNote::Kind::nonblocking
                             ? note.call
                             : std::uint64_t{peer} << 32 | tag,
                         std::memory_order_relaxed);
    wait_.atomic().store(wait_.atomic().load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  Word<std::uint64_t> wait_;
  Word<std::uint64_t> looks_;
  Word<std::uint64_t> what_;
  Word<std::uint32_t> kind_;
};

class Control;

/// One rank's search for ranks that can only wait for each other, in its waits for messages.
class StuckSearch {
 public:
  /// What the rank waits for; its peer by its number in the communicator.
  WaitNote note;

  /// Call it between two looks of a wait that has lasted `waited_ns`. Breaks the group if all its ranks wait or have
  /// left and nothing can come, or if the rank that this one awaits has left.
  void check(Control& control, int rank, std::int64_t waited_ns);

 private:
  std::uint64_t wait_ = 0;            // the number of the wait that the rest is about
  bool peer_had_left_ = false;        // at the last check
  std::vector<WaitMark::Seen> seen_;  // the marks when the group last looked stuck
};

}  // namespace phicoll
