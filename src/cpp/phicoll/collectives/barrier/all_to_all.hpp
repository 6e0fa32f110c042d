#pragma once

// Broadcast barrier: every rank tells every other. Source: rodchenko-2015 section 3, the dissemination
// barrier with f = P-1: one round, P(P-1) notifications.
//
// The flags that a rank hears are packed, eight bytes for each sender, so that it looks at P/8 lines instead
// of P, and 1,024 ranks take 8 MB instead of 128. Eight senders share a line on purpose: the reader fetches a
// line once for all of them when they come together.

#include <cstdint>

#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/memory/word.hpp"

namespace phicoll {

struct AllToAll : AlgorithmDefaults {
  struct Parameters {};

  static AlgorithmFacts facts() {
    return {"all-to-all", Origin::paper, "rodchenko-2015 section 3, broadcast barrier",
            "every rank tells every other in a single round"};
  }

  template <class Visitor>
  static void describe(Visitor&, Parameters&) {}

  /// Bytes of one receiver's flags: no two receivers share a line.
  static std::size_t row_bytes(const Shape& shape) {
    return shape.whole_strides(static_cast<std::size_t>(shape.size()) * 8);
  }
  static std::size_t footprint(const Parameters&, const Shape& shape) {
    return static_cast<std::size_t>(shape.size()) * row_bytes(shape);
  }

  template <class Port>
  class Rank {
   public:
    Rank(const Parameters&, const Setup& setup)
        : memory_(setup.at<unsigned char>(0)),
          heard_(setup.at<Flag>(static_cast<std::size_t>(setup.rank) * row_bytes(setup.shape))),
          row_bytes_(row_bytes(setup.shape)),
          rank_(setup.rank),
          size_(setup.size()) {}

    void operator()(Port& port) {
      ++episode_;
      // Begins with the next rank, so that not all write to one receiver at once. Each flag has only one
      // writer, whose release makes what it wrote before visible to the flag's reader.
      for (int peer = next(rank_); peer != rank_; peer = next(peer)) {
        Flag* const row = reinterpret_cast<Flag*>(memory_ + static_cast<std::size_t>(peer) * row_bytes_);
        port.signal(row[rank_], episode_);
      }
      for (int peer = next(rank_); peer != rank_; peer = next(peer))
        port.wait(heard_[peer], at_least(episode_), peer);
    }

   private:
    using Flag = Word<std::uint64_t>;
    int next(int rank) const { return rank + 1 == size_ ? 0 : rank + 1; }

    unsigned char* memory_;
    Flag* heard_;
    std::size_t row_bytes_;
    std::uint64_t episode_ = 0;
    int rank_;
    int size_;
  };
};

}  // namespace phicoll
