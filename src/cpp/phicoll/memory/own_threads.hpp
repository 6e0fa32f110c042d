#pragma once

// Threads of a process beside those that are in calls: which ones need the interpreter, and which ones can end a wait.

namespace phicoll {

/// Calls the wait hook (native_port.hpp): this thread is about to wait, or to copy for long.
void tell_of_a_wait();

/// A function that returns how many threads of this process may make calls of the library, or null: as many as there are
/// ranks in it. A rank that has several communicators, in a process with more threads, is never considered stuck: another
/// thread may end its wait by a call on another communicator.
using ThreadsHook = int (*)();
void set_threads_hook(ThreadsHook hook);

}  // namespace phicoll
