#pragma once

// Sleeping until a signal, without losing a wake, though signallers run no fence. A sleeper
//
// (1) marks itself (`parked`, add_sleeper) and reads `sequence`,
// (2) runs a membarrier,
// (3) looks at the flag a last time,
// (4) calls futex_wait, which compares `sequence` with the value read before the last look.

#include <atomic>
#include <cstdint>

#include "phicoll/memory/control.hpp"
#include "phicoll/waiting/awaited.hpp"
#include "phicoll/waiting/roaming.hpp"

namespace phicoll {
namespace parking {

// A signaller
//
// (A) stores the flag (release),
// (B) then looks at the marks, in an order that binds only its compiler: its processor may look before the
//     store is visible.
//
// Either (A) is visible to (3), or (B) had not been executed when (2) ran on the signaller's CPU; then (B)
// sees the marks, bumps `sequence` and wakes. So no wake is lost. Without membarrier one can be lost, and the
// bound on a sleep ends it. A fence on every signal instead of (2) would slow down every signal.

/// Sleeps until a signal in the awaited line, or the group breaks: for at most 10 ms, or a 64th of what the
/// wait has lasted. Returns whether the wait is over, and the word in `*seen`. `roaming` tells the others of
/// a rank that sleeps.
bool sleep(Control& control, const Awaited& awaited, Roaming& roaming, std::int64_t waited_ns,
           std::uint64_t* seen);

[[gnu::noinline, gnu::cold]] void wake_sleepers(Control& control, const void* place);
/// To be called after a store to `place`: B above.
[[gnu::always_inline]] inline void wake(Control& control, const void* place) {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (__builtin_expect(control.anyone_parked(), 0)) wake_sleepers(control, place);
}

}  // namespace parking
}  // namespace phicoll
