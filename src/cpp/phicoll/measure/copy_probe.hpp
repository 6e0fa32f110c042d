#pragma once

// The limit for an operation that moves much data: the time to copy its bytes and do nothing else, from the
// same buffers in the same state, with the same ranks on the same CPUs. Each piece is copied by its receiver,
// by its sender, or half by each. Between processes the kernel copies; plain copies within the group's shared
// heap are timed as well.

#include <cstddef>
#include <vector>

#include "phicoll/group/communicator.hpp"
#include "phicoll/measure/message_buffers.hpp"
#include "phicoll/measure/timing.hpp"

namespace phicoll {
namespace measure {

/// Ways to copy, in the order of a probe's stamps.
enum class CopyWay : unsigned char { pull, push, both, heap_pull, heap_push, heap_both };
constexpr int copy_ways = 6;
inline const char* to_string(CopyWay way) {
  static const char* const names[copy_ways] = {"pull", "push", "both", "heap-pull", "heap-push", "heap-both"};
  return names[static_cast<int>(way)];
}

/// Number of times that each way is timed.
int copy_repeats(const Work& work, int ranks);

/// Runs one step of kind probe_copy. Stamps the entries and exits of all repetitions, way after way. The
/// stamps of a way that this group does not have are zero.
void run_copy_probe(const Seat& seat, const Step& step, Communicator& communicator, MessageBuffers& buffers);

}  // namespace measure
}  // namespace phicoll
