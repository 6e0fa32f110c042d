#pragma once

// Ranks that can only wait for each other find that out by their marks (memory/wait_board.hpp), and end with
// an error.

#include <cstdint>
#include <vector>

#include "phicoll/memory/control.hpp"
#include "phicoll/memory/wait_board.hpp"

namespace phicoll {

// The group is stuck if at time T every rank had a mark or had left, and later has the same mark and two more
// looks:
//
// (1) Each rank was in one wait in between, as a new wait has another number. So no rank sent.
// (2) What a rank sent before T it stored before its mark, with release. Who acquired the mark could see the
//     message, as could every rank from then on (all machines here are multi-copy atomic).
// (3) Of the two looks, the second began after T and saw all messages, without ending the wait.

/// One rank's search for ranks that can only wait for each other, in its waits for messages.
class StuckSearch {
 public:
  /// What the rank waits for; its peer by its number in the communicator.
  WaitNote note;
  WaitedRequests requests;  ///< if `note` concerns requests

  /// Call it between two looks of a wait that has lasted `waited_ns`. Breaks the group if all its ranks wait
  /// or have left and nothing can come, or if the rank that this one awaits has left.
  void check(Control& control, int rank, std::int64_t waited_ns);

 private:
  std::uint64_t wait_ = 0;            // the number of the wait that the rest is about
  bool peer_had_left_ = false;        // at the last check
  std::vector<WaitMark::Seen> seen_;  // the marks when the group last looked stuck
};

}  // namespace phicoll
