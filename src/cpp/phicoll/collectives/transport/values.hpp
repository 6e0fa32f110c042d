#pragma once

// Message data of a few bytes as one value, which algorithms pass on in a word. A port whose memory is not
// the host's, where a rank's earlier stores may not be in memory yet, has functions of its own, found by its
// type.

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/data.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

// A call of memcpy takes as long as all that a small collective does besides waiting, and its caller needs
// more registers and a value in memory.
[[gnu::noinline, gnu::pure]] inline std::uint64_t read_odd_bytes(const void* from, std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, bytes);
  return value;
}
[[gnu::noinline]] inline void write_odd_bytes(void* to, std::uint64_t value, std::size_t bytes) {
  std::memcpy(to, &value, bytes);
}

/// The first `bytes` (at most 8) of the data, the rest 0. Eight and four bytes take one load and one store.
template <class Port>
inline std::uint64_t read_value(Port&, Data from, std::size_t bytes) {
  std::uint64_t value = 0;
  if (__builtin_expect(bytes == sizeof value, 1)) {
    std::memcpy(&value, from.at, sizeof value);
  } else if (bytes == sizeof(std::uint32_t)) {
    std::uint32_t half;
    std::memcpy(&half, from.at, sizeof half);
    std::memcpy(&value, &half, sizeof half);
  } else {
    value = read_odd_bytes(from.at, bytes);
  }
  return value;
}

template <class Port>
inline void write_value(Port&, Data to, std::uint64_t value, std::size_t bytes) {
  if (__builtin_expect(bytes == sizeof value, 1))
    std::memcpy(to.at, &value, sizeof value);
  else if (bytes == sizeof(std::uint32_t))
    std::memcpy(to.at, &value, sizeof(std::uint32_t));
  else
    write_odd_bytes(to.at, value, bytes);
}

/// Looks a few times for a short message's data. If it has not come, returns false, and the caller ends in a
/// tail call to a function that waits, so that it needs no stack frame. This version, for ports whose waits
/// are cheap, waits and returns true.
template <class Port, class T>
inline bool comes_soon(Port& port, const Word<T>& word, Condition<T> condition, int from) {
  port.wait(word, condition, from);
  return true;
}

/// The operands of two ranks, the peer's arriving in `theirs`, and everything needed to combine them, looked
/// up before the peer's word arrives: whatever follows its arrival delays the result.
struct WordPair {
  // Always inline, so that its members are registers.
  [[gnu::always_inline]] WordPair(const Call& of, int of_rank, const Word<std::uint64_t>& others)
      : call(of),
        rank(of_rank),
        theirs(others),
        kernel(of.op.kernel),
        context(of.op.context),
        to(of.receive.at),
        left(of_rank == 0 ? of.send.at : static_cast<const void*>(&others)),
        right(of_rank == 0 ? static_cast<const void*>(&others) : of.send.at),
        count(of.count) {}

  const Call& call;
  int rank;
  const Word<std::uint64_t>& theirs;
  Operator::Kernel kernel;
  void* context;
  void* to;
  const void* left;
  const void* right;
  std::size_t count;
};

/// Combines them. `own`: this rank's, for ports whose memory is not the host's; here both are read where they
/// lie, since a value that was just stored on the stack comes back some cycles late.
template <class Port>
[[gnu::always_inline]] inline void combine_pair(Port&, const WordPair& pair, std::uint64_t /*own*/) {
  pair.kernel(pair.context, pair.to, pair.left, pair.right, pair.count);
}

}  // namespace phicoll
