#pragma once

// Signal-register barrier. Source: velamati-2007 section 3.2 ("SIG"): each rank sets a bit of its own in a
// register at the root, the hardware's OR of what all send; the root waits for all bits, and then broadcasts
// as in one-to-all. Here the register is one 64-bit word for each 64 ranks, a line each, set by an atomic OR.
//
// The release is one line that all poll on, or with `release=flags` a flag at each rank as in the paper.

#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/contract/parameters.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

struct SignalRegister : AlgorithmDefaults {
  enum class Release : unsigned char { line, flags };

  struct Parameters {
    Release release = Release::line;
    StorePolicy store = StorePolicy::plain;
  };

  static AlgorithmFacts facts() {
    return {"signal-register", Origin::paper, "velamati-2007 section 3.2, SIG",
            "every rank sets its bit in the root's register by an atomic or; the root then releases all"};
  }

  template <class Visitor>
  static void describe(Visitor& visitor, Parameters& p) {
    visitor.choice("release", p.release, {"line", "flags"},
                   "one release line that all poll on, or a flag at each rank");
    describe_store(visitor, p.store);
  }

  static constexpr int bits = 64;
  using Registers = StridedLines<CounterLine>;
  using Flags = StridedLines<SoleWriterLine<std::uint64_t>>;  // written by the root alone
  static std::size_t flags_offset(const Shape& shape) {
    return Registers::bytes(shape, (shape.size() + bits - 1) / bits);
  }
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return flags_offset(shape) + Flags::bytes(shape, p.release == Release::line ? 1 : shape.size());
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters& p, const Setup& setup)
        : registers_(setup, 0),
          flags_(setup, flags_offset(setup.shape)),
          rank_(setup.rank),
          size_(setup.size()),
          flags_count_(p.release == Release::line ? 1 : setup.size()),
          store_(p.store) {}

    void operator()(Port& port) {
      ++episode_;
      if (rank_ != 0) {
        // Acquire and release: the word passes on what all ranks that set their bits before had written.
        port.signal_or(registers_[rank_ / bits].word, bit(rank_));
        port.wait(flags_[flags_count_ == 1 ? 0 : rank_].word, at_least(episode_), 0);
        return;
      }
      for (int first = 0; first < size_; first += bits) {
        // The root's own bit is never set.
        const int last = (first + bits < size_ ? first + bits : size_) - 1;
        const std::uint64_t all = (~std::uint64_t{0} >> (bits - 1 - (last - first))) & ~bit_of_root(first);
        if (all == 0) continue;
        Word<std::uint64_t>& word = registers_[first / bits].word;
        port.wait(word, equal(all), any_rank);
        // Relaxed: no rank sets a bit again before it has acquired the release below.
        port.store_relaxed(word, std::uint64_t{0});
      }
      if (flags_count_ == 1) {
        port.signal(flags_[0], episode_, store_);
      } else {
        for (int r = 1; r < size_; ++r) port.signal(flags_[r], episode_, store_);
      }
    }

   private:
    static std::uint64_t bit(int rank) { return std::uint64_t{1} << (rank % bits); }
    static std::uint64_t bit_of_root(int first) { return first == 0 ? 1 : 0; }

    Registers registers_;
    Flags flags_;
    std::uint64_t episode_ = 0;
    int rank_;
    int size_;
    int flags_count_;
    StorePolicy store_;
  };
};

}  // namespace phicoll
