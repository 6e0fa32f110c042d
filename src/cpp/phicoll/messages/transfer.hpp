#pragma once

// What callers see of a message, and of a send or receive.

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "phicoll/memory/data.hpp"

namespace phicoll {

constexpr int any_source = -1;
constexpr int any_tag = -1;
constexpr int no_rank = -2;

/// What the receiver learns about a message.
struct Envelope {
  int source = -1;
  int tag = -1;
  std::size_t bytes = 0;
  unsigned type = 0;       ///< by type_number; 0 for plain bytes
  std::uint64_t held = 0;  ///< of a message that is kept for one receive: its number there
};

/// Memory that grows without being written.
template <class T>
struct Unwritten : std::allocator<T> {
  Unwritten() = default;
  template <class U>
  Unwritten(const Unwritten<U>&) {}
  template <class U>
  struct rebind {
    using other = Unwritten<U>;
  };
  template <class U>
  void construct(U*) {}
  template <class U, class V>
  void construct(U* at, V&& value) {
    ::new (static_cast<void*>(at)) U(std::forward<V>(value));
  }
};
using FrameBytes = std::vector<unsigned char, Unwritten<unsigned char>>;

/// Whether a transfer is done. Another thread of its rank may set it: see RankWork.
class Done {
 public:
  Done() = default;
  Done(const Done& other) : value_(static_cast<bool>(other)) {}
  Done& operator=(const Done& other) { return *this = static_cast<bool>(other); }
  Done& operator=(bool value) {
    value_.store(value, std::memory_order_release);
    return *this;
  }
  operator bool() const { return value_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> value_{false};
};

constexpr unsigned no_ticket = 0xff;
/// The type of an interpreter's object. Only a receive of this type takes one; that receive takes bytes too.
constexpr unsigned object_type = 64;

/// Work that goes on after the call that began it.
struct Begun {
  virtual ~Begun() = default;
  Done done;
  std::shared_ptr<void> kept;  ///< lives until it is done
};

/// A send or receive that may go on after the call that made it.
struct Transfer : Begun {
  struct Piece {
    const void* data;
    std::size_t bytes;
  };
  bool sends = false;
  bool synchronous = false;  ///< a send that is done only when the message has been received
  bool exchanged = false;    ///< a send by a rank that receives at the same time, as its peer probably does
  bool cancelled = false;    ///< a receive that was withdrawn; it is done
  int peer = any_source;
  int tag = any_tag;
  unsigned type = 0;
  std::uint64_t held = 0;  ///< of a receive of a message that is kept for it: its Envelope's
  Data data;
  std::size_t bytes = 0;  ///< of a receive: the buffer's
  std::size_t moved = 0;
  std::size_t in_ring = 0;    ///< of a receive: how much of the message comes through the ring
  std::int64_t begun_ns = 0;  ///< of a receive of a message that may go several ways: when it was matched
  bool offered = false;       ///< the receiver may copy the message
  bool alone = false;         ///< of a receive: no other one was under way when it was matched
  bool streamed = false;      ///< of a receive: what comes through the ring is stored past the caches
  unsigned ticket = no_ticket;
  std::uint64_t number = 0;  ///< of the message's first cell in its channel, from 1
  Envelope envelope;         ///< of a receive that is done
  /// Of a send whose message lies in several places: these, in order, instead of `data`.
  std::vector<Piece> pieces;
  /// Of a receive that takes a message of any size: its memory, which grows.
  std::shared_ptr<FrameBytes> frame;
  std::string refused;             ///< why the receive could not take its message, which stays
  int peer_in_group = any_source;  ///< its peer by its number in the whole group, for errors
};
using SharedTransfer = std::shared_ptr<Transfer>;

}  // namespace phicoll
