#pragma once

// A memory barrier on all CPUs that run a thread of this process, or of any registered process. A thread that
// goes to sleep calls it (about 2.5 us) to order a signaller's store before the signaller's look at "is
// anyone asleep". The signaller's path then needs no fence.

namespace phicoll {
namespace os {

/// Registers this process for the expedited barriers, private and global. Call it once in each process that
/// signals or sleeps, before it does: the barrier of a sleeper skips processes that have not registered.
/// Thread-safe, cheap after the first call, repeated by itself after a fork. Returns whether both kinds are
/// available (Linux 4.16).
bool register_membarrier();

/// Issues a barrier on every CPU that runs a thread of this process (`shared` false) or of any registered
/// process (true). Returns false where that is not available; the caller then relies on the bound of its
/// sleep. Registers if need be.
bool membarrier_all(bool shared);

/// Whether the kernel has the global expedited barrier and fallbacks are not forced.
bool membarrier_available();

}  // namespace os
}  // namespace phicoll
