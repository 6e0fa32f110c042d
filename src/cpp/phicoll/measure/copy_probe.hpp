#pragma once

// The limit of an operation that moves much data: its bytes, from the same buffers in the same state, by the
// same ranks on the same CPUs, and nothing else. Each piece is copied by its receiver, by its sender, or half
// by each; between processes by the kernel, and by plain copies from and to the group's shared heap.

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

/// How often each way is timed.
int copy_repeats(const Work& work, int ranks);

/// Runs one step of kind probe_copy. Entries and exits of the repetitions of all ways, one after another; a
/// way that this group has not has zeros.
void run_copy_probe(const Seat& seat, const Step& step, Communicator& communicator, MessageBuffers& buffers);

}  // namespace measure
}  // namespace phicoll
