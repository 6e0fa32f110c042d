#pragma once

// What the broadcasts of velamati-2007 section 3.3 between the ranks' own memories have in common: two lines
// a rank with a call's number and a handle, a ring in shared memory for data that cannot be reached, an
// optional barrier at the end. What differs: who is told where whose memory lies, and who copies what.

#include <cstdint>

#include "phicoll/collectives/broadcast/header_line.hpp"
#include "phicoll/collectives/broadcast/staged_pieces.hpp"
#include "phicoll/collectives/contract/algorithm.hpp"
#include "phicoll/collectives/transport/trailing.hpp"
#include "phicoll/support/aligned_vector.hpp"

namespace phicoll {

struct OwnMemoryBroadcast : AlgorithmDefaults {
  static std::size_t staged_at(int ranks) { return 2 * headers_footprint(ranks); }
  static std::size_t trailing_at(int ranks) { return staged_at(ranks) + staged_footprint(ranks); }
  template <class Parameters>
  static std::size_t footprint(const Parameters& p, const Shape& shape) {
    return trailing_at(shape.size()) + trailing_footprint(p.trailing, shape);
  }
};

template <class Port>
class OwnMemoryRank {
 protected:
  OwnMemoryRank(Trailing trailing, const Setup& setup)
      : where_(setup.at<Strided<HeaderLine>>(0)),
        done_(setup.at<Strided<HeaderLine>>(headers_footprint(setup.size()))),
        staged_(setup, OwnMemoryBroadcast::staged_at(setup.size())),
        trailing_(trailing, setup, OwnMemoryBroadcast::trailing_at(setup.size())),
        handles_(static_cast<std::size_t>(setup.size())),
        rank_(setup.rank),
        ranks_(setup.size()) {}

  /// Begins a call; false if nothing is to be done.
  bool begin(const Call& call) {
    if (call.count == 0 || ranks_ == 1) return false;
    ++number_;
    relative_ = (rank_ - call.root + ranks_) % ranks_;
    return true;
  }
  /// The rank `places` after this one.
  int after(int places) const { return (rank_ + places) % ranks_; }
  HeaderLine& where(int rank) const { return where_[rank].value; }
  HeaderLine& done(int rank) const { return done_[rank].value; }
  Exposed& handle(int rank) { return handles_[static_cast<std::size_t>(rank)]; }

  void tell_where(Port& port, int rank, const Exposed& memory) {
    store_handle(port, where(rank), memory);
    port.signal(where(rank).sequence, number_);
  }
  /// A rank's done line, with whether memory was reached: if not, all read the ring.
  void tell_done(Port& port, int rank, bool reached) {
    port.store_relaxed(done(rank).exposed, std::uint64_t{reached ? 1u : 0u});
    port.signal(done(rank).sequence, number_);
  }
  void await_done(Port& port, int rank, int by) { port.wait(done(rank).sequence, at_least(number_), by); }
  /// Loads a rank's handle; returns whether there is one.
  bool read_handle(Port& port, int rank) {
    handle(rank) = load_handle(port, where(rank));
    return static_cast<bool>(handle(rank));
  }
  /// Ends a call.
  void end(Port& port, const Call& call, bool reached) {
    if (!reached) staged_(port, call);
    trailing_(port);
  }

  Strided<HeaderLine>* where_;
  Strided<HeaderLine>* done_;
  StagedPieces<Port> staged_;
  TrailingBarrier<Port> trailing_;
  AlignedVector<Exposed> handles_;
  std::uint64_t number_ = 0;  // of the call
  int relative_ = 0;          // to its root
  int rank_;
  int ranks_;
};

}  // namespace phicoll
