#pragma once

// Where ranks note long waits. By these notes, ranks that wait for each other for ever find that out
// (waiting/stuck_search.hpp).
//
// A rank whose wait lasts for milliseconds sets its mark, and adds one to `looks` each time that it has
// checked everything that could end the wait. The mark's number is odd while the rank waits, and no number is
// used twice. A rank that looks again and again without waiting sets a mark likewise: look_search.hpp.

#include <cstddef>
#include <cstdint>
#include <string>

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

/// The first few of the requests that a rank waits for any of: receives, sends and nonblocking calls.
class WaitedRequests {
 public:
  static constexpr std::size_t told = 4;

  void clear() { count_ = 0; }
  /// `peer` is the number in the whole group, as in errors.
  void add(WaitNote::Kind kind, std::int32_t peer, std::int32_t tag) {
    if (count_ < told) notes_[count_] = WaitNote{kind, peer, tag, 0};
    ++count_;
  }
  std::size_t count() const { return count_; }
  const WaitNote& operator[](std::size_t i) const { return notes_[i]; }

 private:
  WaitNote notes_[told];
  std::size_t count_ = 0;
};

/// One rank's mark. Written by that rank alone; valid when zeroed.
class WaitMark {
 public:
  /// Notes one more fruitless look. The first look of a wait sets the mark.
  void look(const WaitNote& note, const WaitedRequests& requests) {
    if (!waiting(wait_.atomic().load(std::memory_order_relaxed))) begin(note, requests);
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
  // kind_ has four bits for the kind, then four for the number of requests that are noted, one for whether
  // there are more, and four for the kind of each.
  static constexpr unsigned kind_bits = 4;
  static constexpr unsigned count_at = 4;
  static constexpr unsigned more_at = 8;
  static constexpr unsigned kinds_at = 12;

  void begin(const WaitNote& note, const WaitedRequests& requests) {
    auto kinds = static_cast<std::uint32_t>(note.kind);
    if (note.kind == WaitNote::Kind::requests) {
      for (std::size_t i = 0; i < requests.count() && i < WaitedRequests::told; ++i) {
        kinds |= static_cast<std::uint32_t>(requests[i].kind) << (kinds_at + kind_bits * i);
        kinds += 1u << count_at;
        what_[i].atomic().store(peer_and_tag(requests[i]), std::memory_order_relaxed);
      }
      if (requests.count() > WaitedRequests::told) kinds |= 1u << more_at;
    } else {
      what_[0].atomic().store(
          note.kind == WaitNote::Kind::collective || note.kind == WaitNote::Kind::nonblocking
              ? note.call
              : peer_and_tag(note),
          std::memory_order_relaxed);
    }
    kind_.atomic().store(kinds, std::memory_order_relaxed);
    wait_.atomic().store(wait_.atomic().load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  static std::uint64_t peer_and_tag(const WaitNote& note) {
    return std::uint64_t{static_cast<std::uint32_t>(note.peer)} << 32 | static_cast<std::uint32_t>(note.tag);
  }
  /// "a message from rank 2 with tag 7"
  std::string request_in_words(std::size_t i) const;

  Word<std::uint64_t> wait_;
  Word<std::uint64_t> looks_;
  Word<std::uint64_t> what_[WaitedRequests::told];
  Word<std::uint32_t> kind_;
};

}  // namespace phicoll
