#pragma once

// The line through which one rank tells others that data is ready: a sequence number, where the data is, and
// room for a small message or for the handle of a larger one. One line, so one transfer brings a small
// message.

#include <cstddef>
#include <cstdint>

#include "phicoll/memory/data.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

struct alignas(arch::line_bytes) HeaderLine {
  Word<std::uint64_t> sequence;
  Word<std::uint64_t> exposed;  ///< 1: the payload is a handle of the owner's own buffer; 0: staged
  Word<std::uint64_t> payload[6];
};
static_assert(sizeof(HeaderLine) == arch::line_bytes, "one line");

/// Messages of up to so many bytes fit into a header.
constexpr std::size_t header_payload = sizeof(HeaderLine::payload);

inline std::size_t headers_footprint(int ranks) {
  return static_cast<std::size_t>(ranks) * sizeof(Strided<HeaderLine>);
}
inline std::size_t counters_footprint(int ranks) {
  return static_cast<std::size_t>(ranks) * sizeof(Strided<CounterLine>);
}

/// Where the data lies; all-zero is "staged": it will go through shared memory. Made visible by the signal to
/// `sequence` that follows.
template <class Port>
void store_handle(Port& port, HeaderLine& line, const Exposed& handle) {
  port.store_relaxed(line.exposed, std::uint64_t{handle ? 1u : 0u});
  if (!handle) return;
  port.store_relaxed(line.payload[0], handle.address);
  port.store_relaxed(line.payload[1], std::uint64_t{handle.owner} << 32 | handle.how);
}

/// What store_handle stored, for who has seen the signal.
template <class Port>
Exposed load_handle(Port& port, const HeaderLine& line) {
  if (port.load_relaxed(line.exposed) == 0) return Exposed{0, 0, 0};
  const std::uint64_t address = port.load_relaxed(line.payload[0]);
  const std::uint64_t rest = port.load_relaxed(line.payload[1]);
  return Exposed{address, static_cast<std::uint32_t>(rest >> 32), static_cast<std::uint32_t>(rest)};
}

/// The owner's decision: a handle of its data if peers can reach it where it lies, else "staged".
template <class Port>
Exposed handle_if_exposable(Port& port, Data data, std::size_t bytes) {
  return port.exposable(data, bytes) ? port.expose(data) : Exposed{0, 0, 0};
}

}  // namespace phicoll
