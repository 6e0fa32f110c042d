#pragma once

// What callers see of a message, and of a send or receive.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
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
  unsigned type = 0;  ///< by type_number; 0 for plain bytes
};

constexpr unsigned no_ticket = 0xff;
/// The type of an interpreter's object. Only a receive of this type takes one; that receive takes bytes too.
constexpr unsigned object_type = 64;

/// A send or receive that may go on after the call that made it.
struct Transfer {
  bool sends = false;
  bool done = false;
  bool synchronous = false;  ///< a send that is done only when the message has been received
  bool cancelled = false;    ///< a receive that was withdrawn; it is done
  int peer = any_source;
  int tag = any_tag;
  unsigned type = 0;
  Data data;
  std::size_t bytes = 0;  ///< of a receive: the buffer's
  std::size_t moved = 0;
  unsigned ticket = no_ticket;
  std::uint64_t ticket_number = 0;
  Envelope envelope;  ///< of a receive that is done
  /// Of a receive that takes a message of any size: its memory, which grows.
  std::shared_ptr<std::vector<unsigned char>> frame;
  std::string refused;         ///< why the receive could not take its message, which stays
  std::shared_ptr<void> kept;  ///< lives as long as the transfer goes on
};

}  // namespace phicoll
