#pragma once

// An exchange of one word of up to 8 bytes among all ranks: each publishes its own with a sequence number
// beside it, in 16 bytes, and takes everyone's. Up to four ranks, and ranks that share CPUs, have their words
// side by side in a line: one transfer then brings what several have published. Others have lines of their
// own.
//
// Two alternating sets of words suffice without acknowledgements: who writes in exchange n + 2 has seen
// everyone's word of exchange n + 1, which each published after it had taken all words of exchange n. The
// word is stored before its number, which has the call's tag in its lowest 16 bits (release), and read after
// the number was seen (acquire).

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/collectives/transport/values.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/data.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

struct NumberedWord {
  Word<std::uint64_t> sequence;
  Word<std::uint64_t> value;
};

/// `word_of(r)` of all ranks combined in rank order, as the call's operator says.
template <class WordOf>
inline std::uint64_t combined_words(const Call& call, int ranks, const WordOf& word_of) {
  std::uint64_t result = word_of(0);
  for (int r = 1; r < ranks; ++r) {
    const std::uint64_t operand = word_of(r);
    call.op.kernel(call.op.context, &result, &result, &operand, call.count);
  }
  return result;
}

inline std::size_t words_footprint(int ranks) {
  return 2 * static_cast<std::size_t>(ranks) * sizeof(Strided<NumberedWord>);
}

template <class Port>
class Words {
 public:
  Words(const Setup& setup, std::size_t offset)
      : memory_(setup.memory + offset),
        stride_(setup.size() <= 4 || setup.shape.oversubscribed() || setup.shape.crowded()
                    ? sizeof(NumberedWord)
                    : sizeof(Strided<NumberedWord>)),
        // Both sets of two ranks lie in one line; more have a stride between the sets.
        set_(setup.size() <= 2 ? 2 * stride_
                               : static_cast<std::size_t>(setup.size()) * sizeof(Strided<NumberedWord>)),
        rank_(setup.rank),
        hint_(setup.hint()) {}

  /// Returns the word: who loads its own from the line again takes that away from a peer that stores there.
  std::uint64_t publish(Port& port, Data from, std::size_t bytes, std::uint64_t tag) {
    ++sequence_;
    const std::uint64_t value = read_value(port, from, bytes);
    NumberedWord* const own = word(rank_);
    port.store_relaxed(own->value, value);
    port.signal(own->sequence, (sequence_ << 16) | tag);
    return value;
  }
  /// Of the exchange that this rank published last, if the peer's call has the same tag.
  std::uint64_t take(Port& port, int rank, std::uint64_t tag) {
    NumberedWord* const theirs = word(rank);
    port.wait(theirs->sequence, equal((sequence_ << 16) | tag), hint_(rank));
    return port.load_relaxed(theirs->value);
  }

 private:
  NumberedWord* word(int rank) const {
    return reinterpret_cast<NumberedWord*>(memory_ + (sequence_ & 1) * set_ +
                                           static_cast<std::size_t>(rank) * stride_);
  }

  unsigned char* memory_;
  std::size_t stride_;
  std::size_t set_;
  int rank_;
  Hint hint_;
  std::uint64_t sequence_ = 0;
};

}  // namespace phicoll
