#pragma once

// Which receive takes which message: by source and tag, as in MPI (MPI 4.1, section 3.5), and whether that
// receive can hold it.

#include <cstddef>
#include <cstdint>
#include <string>

#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/messages/transfer.hpp"

namespace phicoll {

/// Whether a receive from `source` with `tag`, or any, matches a message. Tags below any_tag are the
/// library's own.
inline bool fits(const Envelope& message, int source, int tag) {
  return (source == any_source || source == message.source) &&
         (tag == message.tag || (tag == any_tag && message.tag >= 0));
}

/// Why a receive cannot take a message that matches it.
enum class Refusal { none, kind, type, room };

/// The same of a receive of this type and of at most `room` bytes.
inline Refusal refusal_of(const Envelope& message, unsigned type, std::size_t room) {
  // Fits any type, as MPI_BYTE does. So does a char: programs send one and receive the other.
  const auto plain = [](unsigned which) {
    return which == 0 || which == type_number(Type::uint8) || which == type_number(Type::int8);
  };
  if (message.type != type && message.bytes != 0) {
    if (message.type == object_type || (type == object_type && !plain(message.type))) return Refusal::kind;
    if (!plain(message.type) && !plain(type)) return Refusal::type;
  }
  return message.bytes > room ? Refusal::room : Refusal::none;
}

/// The same in words; empty if it can.
inline std::string refusal(const Envelope& message, const Transfer& t) {
  const Refusal refusal = refusal_of(message, t.type, t.frame ? SIZE_MAX : t.bytes);
  if (refusal == Refusal::none) return std::string();
  const std::string from =
      " from rank " + std::to_string(message.source) + " with tag " + std::to_string(message.tag);
  if (refusal == Refusal::kind)
    return std::string("a receive of ") + (t.type == object_type ? "data" : "an object") +
           ", as the message" + from + " is";
  if (refusal == Refusal::type) return type_name(message.type) + ", as the message" + from + " is, or bytes";
  return "room for " + std::to_string(message.bytes) + " bytes, the message" + from;
}

}  // namespace phicoll
