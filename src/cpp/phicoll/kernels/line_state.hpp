#pragma once

// Brings lines into a coherence state by the means of a program: stores, loads and evictions. An eviction
// drops the line from the caches of the rank that asks (the Xeon Phi) or from all (x86-64); a store in front
// of it leaves that rank the only holder, so both come to the same.

#include <cstddef>
#include <cstdint>

#include "phicoll/memory/software.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {
namespace kernels {

enum class LineState : unsigned char {
  modified,   ///< written by its owner
  exclusive,  ///< written, evicted, read again by its owner alone
  shared,     ///< the same, then read by another rank too
  forward,    ///< written, evicted and read by another rank, then read by its owner, which answers for it
  invalid     ///< written and evicted: in memory only
};

/// Whether a rank beside the owner holds the line.
inline bool has_two_holders(LineState state) {
  return state == LineState::shared || state == LineState::forward;
}
/// The rank that brings the line into its state: of a line in state F the other holder, whose part the owner
/// ends by reading. Where the protocol has no such state (MESI, the Xeon Phi's) that is one more shared line.
inline bool owner_begins(LineState state) {
  return state != LineState::forward;
}

/// The words of lines in shared memory that kernels use: the first of a line carries data, the last of the
/// last line the canary.
using DataWord = Word<std::uint64_t>;
constexpr std::size_t words_a_line = arch::line_bytes / sizeof(std::uint64_t);

inline DataWord& first_word(unsigned char* lines, std::size_t line = 0) {
  return *reinterpret_cast<DataWord*>(lines + line * arch::line_bytes);
}
inline DataWord& last_word(unsigned char* lines, std::size_t count) {
  return reinterpret_cast<DataWord*>(lines + count * arch::line_bytes)[-1];
}

/// The owner's part, first: its mark in the first word of every line and in the canary.
template <class Port>
void write_lines(Port& port, unsigned char* lines, std::size_t count, std::uint64_t mark) {
  for (std::size_t i = 0; i < count; ++i) port.store_relaxed(first_word(lines, i), mark);
  port.store_relaxed(last_word(lines, count), mark);
}

/// The owner's part (the other holder's for state F), second, of lines that it has just written: they are
/// modified, exclusive or in memory when this returns. A line of two holders is exclusive until the other has
/// come.
template <class Port>
void hold_lines(Port& port, unsigned char* lines, std::size_t count, LineState state) {
  if (state != LineState::modified) {
    for (std::size_t i = 0; i < count; ++i) port.evict(lines + i * arch::line_bytes);
    port.fence();
    if (state != LineState::invalid)
      for (std::size_t i = 0; i < count; ++i) port.load_relaxed(first_word(lines, i));
  }
  port.fence();
}

/// The part of the holder that comes second, once the first has done its own.
template <class Port>
void share_lines(Port& port, unsigned char* lines, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) port.load_relaxed(first_word(lines, i));
  port.fence();
}

/// The number of lines of a copy without the mark.
template <class Port>
std::uint64_t count_wrong(Port& port, unsigned char* lines, std::size_t count, std::uint64_t mark) {
  std::uint64_t wrong = port.load_acquire(last_word(lines, count)) == mark ? 0 : 1;
  for (std::size_t i = 0; i < count; ++i) wrong += port.load_acquire(first_word(lines, i)) == mark ? 0 : 1;
  return wrong;
}

template <class Visitor>
void describe_state(Visitor& visitor, const char* name, LineState& state, const char* meaning) {
  visitor.choice(name, state, {"M", "E", "S", "F", "I"}, meaning);
}

}  // namespace kernels
}  // namespace phicoll
