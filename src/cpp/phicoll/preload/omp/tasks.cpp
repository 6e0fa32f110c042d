// Tasks of an object that was loaded while a team of ours was in its region. Its barriers run no tasks, so
// each task is executed where it is made, as if its if clause were false. All other programs with tasks are
// left to their runtime.

#include <stddef.h>

#include "phicoll/preload/omp/runtimes.hpp"
#include "phicoll/preload/omp/teams.hpp"

namespace {

using phicoll_omp::here;
using phicoll_omp::Outlined;
using phicoll_omp::Runtime;

/// What __kmpc_omp_task_alloc returns begins so.
struct KmpTask {
  void* shared;
  int (*function)(int thread, void* task);
};

bool runs_at_once() {
  if (here.region == nullptr || (here.place == nullptr && phicoll_omp::find_place() == nullptr)) return false;
  phicoll_omp::left_alone.set(
      "an object that was loaded in a parallel region uses OpenMP tasks, which run in barriers");
  return true;
}

int execute(const Runtime& runtime, void* place, int thread, void* task) {
  runtime.kmp_task_begin_if0(place, thread, task);
  static_cast<KmpTask*>(task)->function(thread, task);
  runtime.kmp_task_complete_if0(place, thread, task);
  return 0;  // not queued
}

constexpr unsigned gomp_if = 1u << 10;

}  // namespace

#define PHICOLL_EXPORT extern "C" __attribute__((visibility("default")))
#define REACHED(kmp) phicoll_omp::reached(__builtin_return_address(0), kmp)

PHICOLL_EXPORT void GOMP_task(Outlined f, void* data, void (*copy)(void*, void*), long bytes, long alignment,
                              bool deferred, unsigned flags, void** depends, int priority, void* detach) {
  REACHED(false).task(f, data, copy, bytes, alignment, deferred && !runs_at_once(), flags, depends, priority,
                      detach);
}
PHICOLL_EXPORT void GOMP_taskloop(Outlined f, void* data, void (*copy)(void*, void*), long bytes,
                                  long alignment, unsigned flags, unsigned long tasks, int priority,
                                  long start, long end, long step) {
  REACHED(false).taskloop(f, data, copy, bytes, alignment, runs_at_once() ? flags & ~gomp_if : flags, tasks,
                          priority, start, end, step);
}
PHICOLL_EXPORT void GOMP_taskloop_ull(Outlined f, void* data, void (*copy)(void*, void*), long bytes,
                                      long alignment, unsigned flags, unsigned long tasks, int priority,
                                      unsigned long long start, unsigned long long end,
                                      unsigned long long step) {
  REACHED(false).taskloop_ull(f, data, copy, bytes, alignment, runs_at_once() ? flags & ~gomp_if : flags,
                              tasks, priority, start, end, step);
}

PHICOLL_EXPORT int __kmpc_omp_task(void* place, int thread, void* task) {
  const Runtime& runtime = REACHED(true);
  return runs_at_once() ? execute(runtime, place, thread, task) : runtime.kmp_task(place, thread, task);
}
PHICOLL_EXPORT int __kmpc_omp_task_with_deps(void* place, int thread, void* task, int count, void* depends,
                                             int unaliased, void* others) {
  const Runtime& runtime = REACHED(true);
  if (!runs_at_once())
    return runtime.kmp_task_with_deps(place, thread, task, count, depends, unaliased, others);
  runtime.kmp_wait_deps(place, thread, count, depends, unaliased, others);
  return execute(runtime, place, thread, task);
}
PHICOLL_EXPORT void __kmpc_taskloop(void* place, int thread, void* task, int deferred, void* low, void* high,
                                    long step, int no_group, int schedule, unsigned long grain, void* copy) {
  REACHED(true).kmp_taskloop(place, thread, task, runs_at_once() ? 0 : deferred, low, high, step, no_group,
                             schedule, grain, copy);
}
PHICOLL_EXPORT void __kmpc_taskloop_5(void* place, int thread, void* task, int deferred, void* low,
                                      void* high, long step, int no_group, int schedule, unsigned long grain,
                                      int modifier, void* copy) {
  REACHED(true).kmp_taskloop_5(place, thread, task, runs_at_once() ? 0 : deferred, low, high, step, no_group,
                               schedule, grain, modifier, copy);
}
