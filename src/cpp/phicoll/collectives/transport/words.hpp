#pragma once

// An exchange of one word of up to 8 bytes among all ranks. Each publishes its own next to a sequence number,
// in 16 bytes, and takes everyone's. The words of up to four ranks, and of ranks that share CPUs, lie side by
// side in a line, so that one transfer may bring several; other ranks' words have their own lines.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/call.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/data.hpp"
#include "phicoll/memory/word.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

struct NumberedWord {
  Word<std::uint64_t> sequence;
  Word<std::uint64_t> value;
};

/// Combines `word_of(r)` of all ranks in rank order, by the call's operator.
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

/// The line of both sets of two ranks' words, where they lie first. Null for more ranks, whose sets are
/// apart.
inline const void* words_line(const Setup& setup) {
  return setup.size() == 2 ? setup.memory : nullptr;
}

// (1) The word is stored before its number, whose lowest 16 bits are the call's tag (release). It is read
//     after the number was seen (acquire).
// (2) Two alternating sets of words need no acknowledgements: a rank that writes in exchange n + 2 has seen
//     everyone's word of exchange n + 1, which each rank published after it had taken all words of exchange
//     n.
template <class Port>
class Words {
 public:
  Words(const Setup& setup, std::size_t offset)
      : stride_(setup.size() <= 4 || setup.shape.sharing() ? sizeof(NumberedWord)
                                                           : sizeof(Strided<NumberedWord>)),
        rank_(setup.rank),
        hint_(setup.hint()),
        own_(reinterpret_cast<NumberedWord*>(setup.memory + offset + rank_ * stride_)),
        // Both sets of two ranks lie in one line; more ranks have a stride between the sets.
        next_(reinterpret_cast<NumberedWord*>(
            reinterpret_cast<unsigned char*>(own_) +
            (setup.size() <= 2 ? 2 * sizeof(NumberedWord)
                               : static_cast<std::size_t>(setup.size()) * sizeof(Strided<NumberedWord>)))) {}

  /// Publishes and returns this rank's word. Loading it from the line again would take the line from a peer
  /// that stores there. Where the word goes was worked out before: peers wait for it.
  std::uint64_t publish(Port& port, Data from, std::size_t bytes, std::uint64_t tag) {
    PHICOLL_ASSERT(
        Port, bytes <= sizeof(std::uint64_t),
        "rank " + std::to_string(rank_) + " publishes " + std::to_string(bytes) + " bytes as a word");
    PHICOLL_ASSERT(Port, tag >> 16 == 0, "a tag of more than 16 bits beside a word's number");
    NumberedWord& own = *next_;
    const std::uint64_t value = port.read_value(from, bytes);
    const std::uint64_t number = next_number_ | tag;
    port.store_relaxed(own.value, value);
    port.signal(own.sequence, number);
    number_ = number;
    std::swap(own_, next_);
    next_number_ += std::uint64_t{1} << 16;
    return value;
  }
  /// Waits for a rank's word in the exchange that this rank published last, and returns its place. Does not
  /// return if the peer's call has another tag.
  const Word<std::uint64_t>& await(Port& port, int rank) {
    PHICOLL_ASSERT(Port, rank != rank_, "rank " + std::to_string(rank) + " awaits its own word");
    PHICOLL_ASSERT(Port, number_ != 0,
                   "rank " + std::to_string(rank_) + " awaits a word of an exchange that it has not begun");
    const NumberedWord& theirs = word(rank);
    port.wait(theirs.sequence, equal(number_), hint_(rank));
    return theirs.value;
  }
  std::uint64_t take(Port& port, int rank) { return port.load_relaxed(await(port, rank)); }
  /// The place of that word, and whether it comes soon.
  const Word<std::uint64_t>& place(int rank) const { return word(rank).value; }
  bool comes_soon(Port& port, int rank) const {
    return port.comes_soon(word(rank).sequence, equal(number_), hint_(rank));
  }

 private:
  const NumberedWord& word(int rank) const {
    return *reinterpret_cast<const NumberedWord*>(reinterpret_cast<const unsigned char*>(own_) +
                                                  (rank - rank_) * stride_);
  }

  std::ptrdiff_t stride_;
  int rank_;
  Hint hint_;
  // This rank's word in the exchange that it published last and in the next one; then both exchanges'
  // numbers, the next one's without the tag.
  NumberedWord* own_;
  NumberedWord* next_;
  std::uint64_t number_ = 0;
  std::uint64_t next_number_ = std::uint64_t{1} << 16;
};

}  // namespace phicoll
