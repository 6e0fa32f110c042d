#pragma once

// A message that the kernel copies from a root's buffer to every other rank's, in pieces. Each rank takes
// pieces from the root as it becomes free, by a common counter, and the rest from the ranks that took those.
// So the root's buffer is read once, and the root is free when all its pieces are taken, whoever took them.

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "phicoll/collectives/transport/exposure.hpp"
#include "phicoll/memory/condition.hpp"
#include "phicoll/memory/control.hpp"
#include "phicoll/support/assert.hpp"

namespace phicoll {

struct alignas(arch::stride_bytes) SpreadPieces {
  static constexpr std::size_t most = 64;
  Strided<CounterLine> next;
  Word<std::uint64_t> taken[most];  // the call's number and the rank
};

inline std::size_t spread_copy_footprint(int ranks) {
  return exposures_footprint(ranks) + sizeof(SpreadPieces);
}

// (1) The root sets the counter to the call's number times 2^32 before it publishes the message. A late rank
//     takes a piece only while the counter has its call's number.
// (2) A rank that has taken a piece says so in the piece's word, with the call's number (release). Who
//     acquires this copies the piece from there; the root returns after acquiring it for every piece.
// (3) The other ranks return when all of them have finished. So nobody writes a piece's word of the next call
//     before all have read this one's.
template <class Port>
class SpreadCopy {
 public:
  SpreadCopy(const Setup& setup, std::size_t offset, std::size_t least_piece)
      : exposures_(setup, offset),
        pieces_(setup.at<SpreadPieces>(offset + exposures_footprint(setup.size()))),
        least_piece_(least_piece),
        rank_(setup.rank),
        ranks_(setup.size()) {}

  /// On the root: before it publishes its message.
  void begin_root(Port& port) {
    exposures_.skip();
    port.store_relaxed(pieces_->next.value.word, exposures_.call() << 32);
  }
  /// On the root: waits until nobody reads its message of `bytes` any more.
  void end_root(Port& port, std::size_t bytes) {
    for (std::size_t p = 0; p * piece_of(bytes) < bytes; ++p) holder(port, p);
  }
  /// On another rank: gets the root's message.
  void take(Port& port, std::uint64_t tag, int root, const Exposed& message, Data to, std::size_t bytes) {
    PHICOLL_ASSERT(Port, rank_ != root, "the root takes its own message");
    PHICOLL_ASSERT(Port, piece_of(bytes) * SpreadPieces::most >= bytes, "a message of too many pieces");
    exposures_.publish(port, tag, Data(), 0, to, bytes);
    const std::size_t piece = piece_of(bytes);
    const auto fetch = [&, piece](const Exposed& from, std::size_t p) {
      port.fetch(to + p * piece, from, p * piece, std::min(piece, bytes - p * piece));
    };
    const auto fetch_from_holder = [&](std::size_t p) {
      const int from = holder(port, p);
      if (from != rank_) fetch(exposures_.await(port, from).receive, p);
    };
    // All pieces before this one are here; so are those that this rank took from the root.
    std::size_t here = 0;
    std::size_t next = 0;
    while (claim(port, bytes, &next)) {
      fetch(message, next);
      port.signal(pieces_->taken[next], number() | static_cast<unsigned>(rank_));
      // What others have just copied is still in a cache.
      while (here * piece < bytes && port.load_acquire(pieces_->taken[here]) >= number())
        fetch_from_holder(here++);
    }
    while (here * piece < bytes) fetch_from_holder(here++);
    exposures_.finish(port);
    for (int turn = 1; turn < ranks_; ++turn)
      if ((rank_ + turn) % ranks_ != root) exposures_.await_finish(port, (rank_ + turn) % ranks_);
  }

 private:
  static constexpr unsigned rank_bits = 16;
  static_assert(max_ranks <= 1 << rank_bits, "a rank fits beside the call's number");

  std::uint64_t number() const { return exposures_.call() << rank_bits; }
  std::size_t piece_of(std::size_t bytes) const {
    return std::max(least_piece_, arch::whole_lines((bytes + SpreadPieces::most - 1) / SpreadPieces::most));
  }
  /// Takes the root's next piece, if there is one.
  bool claim(Port& port, std::size_t bytes, std::size_t* piece) {
    Word<std::uint64_t>& counter = pieces_->next.value.word;
    std::uint64_t count = port.load_acquire(counter);
    do {
      *piece = static_cast<std::size_t>(count & UINT32_MAX);
      if (count >> 32 != (exposures_.call() & UINT32_MAX) || *piece * piece_of(bytes) >= bytes) return false;
    } while (!port.compare_exchange(counter, count, count + 1));
    return true;
  }
  /// The rank that has taken piece p, once it has.
  int holder(Port& port, std::size_t p) {
    const std::uint64_t taken = port.wait(pieces_->taken[p], at_least(number()));
    return static_cast<int>(taken & ((1u << rank_bits) - 1));
  }

  Exposures<Port> exposures_;
  SpreadPieces* pieces_;
  std::size_t least_piece_;
  int rank_;
  int ranks_;
};

}  // namespace phicoll
