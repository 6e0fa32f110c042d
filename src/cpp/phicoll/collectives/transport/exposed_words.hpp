#pragma once

// How a handle of exposed data lies in shared memory, and a copy of the data.

#include <cstddef>
#include <cstdint>

#include "phicoll/memory/data.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

/// A handle, or nothing if all is zero. The signal after the store makes it visible; load it after the wait
/// for that signal.
struct ExposedWords {
  Word<std::uint64_t> address;
  Word<std::uint64_t> kind;  ///< the owner in the upper half, how it is reached in the lower

  template <class Port>
  void store(Port& port, const Exposed& exposed) {
    port.store_relaxed(address, exposed.address);
    port.store_relaxed(kind, std::uint64_t{exposed.owner} << 32 | exposed.how);
  }
  template <class Port>
  Exposed load(Port& port) const {
    const std::uint64_t both = port.load_relaxed(kind);
    return Exposed{port.load_relaxed(address), static_cast<std::uint32_t>(both >> 32),
                   static_cast<std::uint32_t>(both)};
  }
};

/// A handle beside a word that says whether there is one: 1 for a handle, 0 for "staged", the data goes
/// through shared memory.
template <class Port>
void store_handle(Port& port, Word<std::uint64_t>& exposed, ExposedWords& words, const Exposed& handle) {
  port.store_relaxed(exposed, std::uint64_t{handle ? 1u : 0u});
  if (handle) words.store(port, handle);
}
template <class Port>
Exposed load_handle(Port& port, const Word<std::uint64_t>& exposed, const ExposedWords& words) {
  return port.load_relaxed(exposed) == 0 ? Exposed{0, 0, 0} : words.load(port);
}

/// Copies `bytes` of a peer's data, from `at` on, by loads where they reach it.
template <class Port>
void take_exposed(Port& port, Data to, const Exposed& from, std::size_t at, std::size_t bytes,
                  Stores stores) {
  if (port.direct(from))
    port.move(to, port.view(from, at), bytes, stores);
  else
    port.fetch(to, from, at, bytes);
}
/// Copies `bytes` to a peer's buffer, from `at` on, by stores where they reach it.
template <class Port>
void put_exposed(Port& port, const Exposed& to, std::size_t at, Data from, std::size_t bytes) {
  if (port.direct(to))
    port.move(port.view(to, at), from, bytes, Stores::handed_over);
  else
    port.put(to, at, from, bytes);
}

}  // namespace phicoll
