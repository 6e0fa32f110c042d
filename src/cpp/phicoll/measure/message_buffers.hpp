#pragma once

// One rank's buffers for a collective that moves data. They know what their owner writes before a call, and
// check that what arrived is what the owners wrote. Each number follows from its owner, its position and the
// call. All are small and whole, so that a sum does not depend on the order of the additions.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/collectives/verifying/program.hpp"
#include "phicoll/measure/work.hpp"

namespace phicoll {

class Communicator;

namespace measure {

/// Sixteen bytes, which hold a whole number of elements of any type.
struct alignas(16) MessageUnit {
  unsigned char bytes[16];
};

/// The owner's write before a call. Fills the buffer with one unit, a different one for each call, by
/// ordinary stores that go through the caches. Empty for a rank that sends nothing or writes only once.
struct FreshWrite {
  unsigned char* to;
  std::size_t bytes;
  const MessageUnit* units;

  static constexpr unsigned count = 64;
  static constexpr bool writes = true;
  void operator()(std::uint64_t call) const {
    const MessageUnit unit = units[call % count];
    std::size_t at = 0;
    for (; at + sizeof unit <= bytes; at += sizeof unit) __builtin_memcpy(to + at, &unit, sizeof unit);
    for (std::size_t left = 0; at < bytes; ++at, ++left) to[at] = unit.bytes[left];
  }
};

class MessageBuffers {
 public:
  /// `heap`: the communicator in whose heap `heap` buffers lie; needed only for these.
  MessageBuffers(int rank, int ranks, Communicator* heap = nullptr);
  ~MessageBuffers();
  MessageBuffers(const MessageBuffers&) = delete;
  MessageBuffers& operator=(const MessageBuffers&) = delete;

  /// Allocates both buffers, `offset` bytes after the start of a page. Throws ResourceError. For the heap,
  /// check_settings has made sure that there is room.
  void prepare(const Work& work, std::size_t offset);

  const Work& work() const { return work_; }
  /// This rank's buffers. For a broadcast, the root's message is its send buffer. Never null, even if the
  /// rank sends nothing.
  unsigned char* send() const { return send_.at; }
  unsigned char* receive() const { return receive_.at; }

  /// The owner's write before a call; empty if buffers are reused.
  FreshWrite fresh_write() const;
  /// Fills the send buffer with contents that differ from position to position, and from one `salt` (one
  /// call) to the next. Spoils the receive buffer.
  void fill(std::uint64_t salt);
  /// Checks the result of a call before which every owner called fill(salt). Returns what is wrong, or "".
  std::string check_filled(std::uint64_t salt) const;
  /// The same for a call before which every owner called fresh_write()(call).
  std::string check_fresh(std::uint64_t call) const;

 private:
  struct Part {
    unsigned char* memory = nullptr;  // with a page in front of `at` for a guard
    std::size_t bytes = 0;
    bool heap = false;
    unsigned char* at = nullptr;
  };
  void take(Part& part, std::size_t bytes, std::size_t offset);
  void drop(Part& part);
  void make_units();
  void expected_of(int owner, std::size_t from, std::size_t bytes, bool flat, std::uint64_t salt,
                   unsigned char* to) const;
  std::string check(bool flat, std::uint64_t salt) const;

  int rank_;
  int ranks_;
  Communicator* heap_;
  Work work_;
  Operator op_;
  std::vector<OutcomePart> outcome_;
  std::size_t send_bytes_ = 0;
  std::size_t receive_bytes_ = 0;
  Part send_, receive_;
  std::vector<std::vector<MessageUnit>> units_;  // one vector for each owner
};

}  // namespace measure
}  // namespace phicoll
