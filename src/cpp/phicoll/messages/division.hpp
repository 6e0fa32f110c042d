#pragma once

// How messages are divided: into pieces of the ring and the pools, and large ones into two parts.

#include <algorithm>
#include <cstddef>

#include "phicoll/collectives/transport/copy_ways.hpp"

namespace phicoll {

/// The sizes that follow from that of a communicator's rings. `rank`: this one. What it sends to itself is
/// not divided in two.
struct Division {
  Division(int this_rank, std::size_t ring_bytes)
      : rank(this_rank),
        ring(ring_bytes),
        unit(ring / 16 < least_piece ? ring / 16 : least_piece),
        quarter(ring / 4 / unit * unit),
        most_piece(std::min(std::size_t{65536}, ring / 4)),
        most_at_once(std::min(std::size_t{262144}, ring)) {}

  static constexpr std::size_t least_piece = 8192;
  int rank;
  std::size_t ring;
  std::size_t unit;          ///< of a pool's stretches
  std::size_t quarter;       ///< of a pool
  std::size_t most_piece;    ///< bytes of a piece
  std::size_t most_at_once;  ///< bytes of a message that are sent before its receive has matched it

  std::size_t pool() const { return 4 * quarter; }
  /// Those of a larger message. They are copied twice, in turn, so there are few if both ranks may copy the
  /// rest, which is copied once.
  std::size_t first_part(std::size_t bytes) const {
    return bytes < CopyWays::least_bytes ? most_at_once / 2 : std::min(least_piece * 2, most_at_once / 2);
  }
  /// Whether the rest of a message to or from a rank is sent only when it is wanted.
  bool in_two_parts(std::size_t bytes, int peer) const { return bytes > most_at_once && peer != rank; }
};

}  // namespace phicoll
