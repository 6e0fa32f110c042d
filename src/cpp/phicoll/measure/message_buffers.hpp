#pragma once

// One rank's buffers for a collective that moves data: what its owner writes before a call, and whether what
// arrived is what the owners wrote. The numbers are small and whole, so that sums come out the same in any
// order of adding, and each is known from its owner and its place alone.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "phicoll/measure/work.hpp"

namespace phicoll {

class Communicator;

namespace measure {

/// A whole number of elements of any type.
struct alignas(16) MessageUnit {
  unsigned char bytes[16];
};

/// The owner's write before a call: ordinary stores (never past the caches) of one unit all over the buffer,
/// another one for each call. Nothing where a rank sends nothing, or writes only once.
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
  /// `heap`: whose heap buffers are in that are to be there.
  MessageBuffers(int rank, int ranks, Communicator* heap = nullptr);
  ~MessageBuffers();
  MessageBuffers(const MessageBuffers&) = delete;
  MessageBuffers& operator=(const MessageBuffers&) = delete;

  /// Makes room: both buffers `offset` bytes behind the start of a page. Throws ResourceError; in the heap
  /// check_settings has seen to it that there is room.
  void prepare(const Work& work, std::size_t offset);

  const Work& work() const { return work_; }
  /// Of this rank; for a broadcast the root's message. Never null, also where the rank sends nothing.
  unsigned char* send() const { return send_.at; }
  unsigned char* receive() const { return receive_.at; }

  /// What the owner writes before a call; with buffers that are reused an empty one.
  FreshWrite fresh_write() const;
  /// Writes the send buffer so that no two places are alike, `salt` telling calls apart, and spoils the
  /// receive buffer.
  void fill(std::uint64_t salt);
  /// What the call must have left after all owners made fill(salt): "" or what is wrong.
  std::string check_filled(std::uint64_t salt) const;
  /// The same after all owners' fresh_write()(call).
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
  std::string check_block(const unsigned char* got, std::size_t bytes, int first, int last, std::size_t from,
                          bool flat, std::uint64_t salt) const;

  int rank_;
  int ranks_;
  Communicator* heap_;
  Work work_;
  Operator op_;
  std::size_t send_bytes_ = 0;
  std::size_t receive_bytes_ = 0;
  Part send_, receive_;
  std::vector<std::vector<MessageUnit>> units_;  // of each owner
};

}  // namespace measure
}  // namespace phicoll
