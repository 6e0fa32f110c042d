#pragma once

// Hooks about the process's other threads: those that need the interpreter, and those that can end a wait.

namespace phicoll {

/// Calls the wait hook (native_port.hpp): this thread is about to wait, or to copy for long.
void tell_of_a_wait();

/// A function that returns how many threads of this process may make calls of the library; null: as many as
/// it has ranks. If there are more, a rank with several communicators is never considered stuck, since
/// another thread may end its wait by a call on another communicator.
using ThreadsHook = int (*)();
void set_threads_hook(ThreadsHook hook);

class Control;
/// Whether a thread beside the ranks' own may make calls of the library.
bool has_further_threads(const Control& group);
/// Whether an interpreter makes the calls.
bool has_interpreter();

}  // namespace phicoll
