#pragma once

// The line through which one rank tells others that data is ready: a sequence number, where the data is, and
// room for a small message or for the handle of a larger one. One line, so one transfer brings a small
// message.

#include <cstddef>
#include <cstdint>

#include "phicoll/collectives/transport/exposed_words.hpp"
#include "phicoll/memory/data.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

struct alignas(arch::line_bytes) HeaderLine {
  Word<std::uint64_t> sequence;
  Word<std::uint64_t> exposed;  ///< 1: the payload is a handle of the owner's own buffer; 0: staged
  union {
    Word<std::uint64_t> payload[6];
    ExposedWords handle;
  };
};
static_assert(sizeof(HeaderLine) == arch::line_bytes, "one line");

/// The largest message that fits into a header, in bytes.
constexpr std::size_t header_payload = sizeof(HeaderLine::payload);

inline std::size_t headers_footprint(int ranks) {
  return static_cast<std::size_t>(ranks) * sizeof(Strided<HeaderLine>);
}
inline std::size_t counters_footprint(int ranks) {
  return static_cast<std::size_t>(ranks) * sizeof(Strided<CounterLine>);
}

template <class Port>
void store_handle(Port& port, HeaderLine& line, const Exposed& handle) {
  store_handle(port, line.exposed, line.handle, handle);
}
template <class Port>
Exposed load_handle(Port& port, const HeaderLine& line) {
  return load_handle(port, line.exposed, line.handle);
}

/// The owner's decision: a handle of its data if peers can reach it where it lies, else "staged".
template <class Port>
Exposed handle_if_exposable(Port& port, Data data, std::size_t bytes) {
  return port.exposable(data, bytes) ? port.expose(data) : Exposed{0, 0, 0};
}

}  // namespace phicoll
