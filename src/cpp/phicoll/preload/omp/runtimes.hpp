#pragma once

// The OpenMP runtimes of a process (libgomp, libomp, libiomp5), and which of them a caller would have
// reached.

#include "phicoll/preload/reason.hpp"

namespace phicoll_omp {

using Outlined = void (*)(void*);
using Micro = void (*)(int* thread, int* bound, ...);

// GCC's and LLVM's entry points that are intercepted or needed: member, symbol, type.
#define PHICOLL_OMP_FUNCTIONS(X)                                                                            \
  X(parallel, "GOMP_parallel", void (*)(Outlined, void*, unsigned, unsigned))                               \
  X(parallel_reductions, "GOMP_parallel_reductions", unsigned (*)(Outlined, void*, unsigned, unsigned))     \
  X(parallel_sections, "GOMP_parallel_sections", void (*)(Outlined, void*, unsigned, unsigned, unsigned))   \
  X(parallel_loop_static, "GOMP_parallel_loop_static", Loop)                                                \
  X(parallel_loop_dynamic, "GOMP_parallel_loop_dynamic", Loop)                                              \
  X(parallel_loop_guided, "GOMP_parallel_loop_guided", Loop)                                                \
  X(parallel_loop_nonmonotonic_dynamic, "GOMP_parallel_loop_nonmonotonic_dynamic", Loop)                    \
  X(parallel_loop_nonmonotonic_guided, "GOMP_parallel_loop_nonmonotonic_guided", Loop)                      \
  X(parallel_loop_runtime, "GOMP_parallel_loop_runtime", RuntimeLoop)                                       \
  X(parallel_loop_nonmonotonic_runtime, "GOMP_parallel_loop_nonmonotonic_runtime", RuntimeLoop)             \
  X(parallel_loop_maybe_nonmonotonic_runtime, "GOMP_parallel_loop_maybe_nonmonotonic_runtime", RuntimeLoop) \
  X(parallel_start, "GOMP_parallel_start", void (*)(Outlined, void*, unsigned))                             \
  X(parallel_sections_start, "GOMP_parallel_sections_start", void (*)(Outlined, void*, unsigned, unsigned)) \
  X(parallel_loop_static_start, "GOMP_parallel_loop_static_start", LoopStart)                               \
  X(parallel_loop_dynamic_start, "GOMP_parallel_loop_dynamic_start", LoopStart)                             \
  X(parallel_loop_guided_start, "GOMP_parallel_loop_guided_start", LoopStart)                               \
  X(parallel_loop_runtime_start, "GOMP_parallel_loop_runtime_start", RuntimeLoopStart)                      \
  X(parallel_end, "GOMP_parallel_end", void (*)())                                                          \
  X(barrier, "GOMP_barrier", void (*)())                                                                    \
  X(loop_end, "GOMP_loop_end", void (*)())                                                                  \
  X(loop_end_nowait, "GOMP_loop_end_nowait", void (*)())                                                    \
  X(sections_end, "GOMP_sections_end", void (*)())                                                          \
  X(sections_end_nowait, "GOMP_sections_end_nowait", void (*)())                                            \
  X(kmp_fork_call, "__kmpc_fork_call", void (*)(void*, int, Micro, ...))                                    \
  X(kmp_fork_call_if, "__kmpc_fork_call_if", void (*)(void*, int, Micro, int, void*))                       \
  X(kmp_serialized_parallel, "__kmpc_serialized_parallel", void (*)(void*, int))                            \
  X(kmp_end_serialized_parallel, "__kmpc_end_serialized_parallel", void (*)(void*, int))                    \
  X(kmp_barrier, "__kmpc_barrier", void (*)(void*, int))                                                    \
  X(task, "GOMP_task",                                                                                      \
    void (*)(Outlined, void*, void (*)(void*, void*), long, long, bool, unsigned, void**, int, void*))      \
  X(taskloop, "GOMP_taskloop", Taskloop<long>)                                                              \
  X(taskloop_ull, "GOMP_taskloop_ull", Taskloop<unsigned long long>)                                        \
  X(kmp_task, "__kmpc_omp_task", int (*)(void*, int, void*))                                                \
  X(kmp_task_with_deps, "__kmpc_omp_task_with_deps", int (*)(void*, int, void*, int, void*, int, void*))    \
  X(kmp_wait_deps, "__kmpc_omp_wait_deps", void (*)(void*, int, int, void*, int, void*))                    \
  X(kmp_task_begin_if0, "__kmpc_omp_task_begin_if0", void (*)(void*, int, void*))                           \
  X(kmp_task_complete_if0, "__kmpc_omp_task_complete_if0", void (*)(void*, int, void*))                     \
  X(kmp_taskloop, "__kmpc_taskloop",                                                                        \
    void (*)(void*, int, void*, int, void*, void*, long, int, int, unsigned long, void*))                   \
  X(kmp_taskloop_5, "__kmpc_taskloop_5",                                                                    \
    void (*)(void*, int, void*, int, void*, void*, long, int, int, unsigned long, int, void*))              \
  X(thread_num, "omp_get_thread_num", int (*)())                                                            \
  X(num_threads, "omp_get_num_threads", int (*)())                                                          \
  X(num_procs, "omp_get_num_procs", int (*)())

using Loop = void (*)(Outlined, void*, unsigned, long, long, long, long, unsigned);
using RuntimeLoop = void (*)(Outlined, void*, unsigned, long, long, long, unsigned);
using LoopStart = void (*)(Outlined, void*, unsigned, long, long, long, long);
using RuntimeLoopStart = void (*)(Outlined, void*, unsigned, long, long, long);

template <class Bound>
using Taskloop = void (*)(Outlined, void*, void (*)(void*, void*), long, long, unsigned, unsigned long, int,
                          Bound, Bound, Bound);
template <class Type>
using Member = Type;

/// A runtime's functions; null for one that it lacks.
struct Runtime {
  int cpus;
#define X(member, symbol, type) Member<type> member;
  PHICOLL_OMP_FUNCTIONS(X)
#undef X
};

/// An object that has called: where it lies, and the runtimes that its calls of each kind reach.
struct Caller {
  const char* from;
  const char* to;
  const Runtime* gomp;
  const Runtime* kmp;
};

/// The functions that the object with this address reaches. The first call of an object also looks at what
/// all objects import. Ends the process if there is no such function, as the dynamic linker would have.
const Caller& caller(const void* address, bool kmp);
/// Keeps the runtimes that callers know from being unloaded. Called before any object is closed, not when a
/// caller is met: the dynamic linker gives a handle of an object only once no thread runs constructors.
void keep_runtimes();
/// Whether this process has several runtimes, so that a callee is not known by its team.
bool several_runtimes();
/// Why the program is left to its runtime.
extern phicoll_preload::Reason left_alone;
/// Whether this copy of the library is not the first of the process.
bool preloaded_twice();

}  // namespace phicoll_omp
