// Replaces a program's calls of its OpenMP runtime: the beginnings of parallel regions and the barriers in
// them. Forks, joins, work sharing and all else stay the runtime's. dlclose() is replaced too, so that no
// runtime goes.

#include <alloca.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "phicoll/preload/last_word.hpp"
#include "phicoll/preload/omp/runtimes.hpp"
#include "phicoll/preload/omp/teams.hpp"
#include "phicoll/preload/process.hpp"

namespace phicoll_omp {
namespace {

constexpr int most_arguments = 1020;

/// Gives this thread another state for the length of a scope.
class During {
 public:
  explicit During(Region* region) : before_(here) {
    here = Here{};
    here.region = region;
  }
  ~During() { here = before_; }
  During(const During&) = delete;
  During& operator=(const During&) = delete;

 private:
  Here before_;
};

/// A region as GCC's code begins it.
struct Gomp : Region {
  Gomp(const Runtime& runtime, int outer, Outlined f, void* d)
      : Region(runtime, outer), function(f), data(d) {}
  Outlined function;
  void* data;

  static void work(void* self) {
    auto* const region = static_cast<Gomp*>(self);
    const During inside(region);
    region->function(region->data);
  }
};

/// The words that are passed for so many arguments. A function gets at least those that it takes: others are
/// the caller's to put away, on x86-64 and aarch64.
constexpr int passed(int count) {
  return count <= 4 ? 4 : count <= 12 ? 12 : count <= 60 ? 60 : most_arguments;
}

/// A region as LLVM's code begins it. Arguments are words.
struct Kmp : Region {
  Kmp(const Runtime& runtime, int outer, Micro f, int n, void* const* a)
      : Region(runtime, outer), function(f), count(n), arguments(a) {}
  Micro function;
  int count;
  void* const* arguments;  // passed(count); those beyond `count` are never looked at

#define FOUR(n) a[n], a[(n) + 1], a[(n) + 2], a[(n) + 3]
#define TWELVE(n) FOUR(n), FOUR((n) + 4), FOUR((n) + 8)
#define SIXTY(n) TWELVE(n), TWELVE((n) + 12), TWELVE((n) + 24), TWELVE((n) + 36), TWELVE((n) + 48)
#define MANY(n) SIXTY(n), SIXTY((n) + 60), SIXTY((n) + 120), SIXTY((n) + 180)
  // Not inlined: what it passes lies in its frame, and regions may nest by the thousand.
  __attribute__((noinline)) void call_with_many(int* thread, int* bound) const {
    void* const* const a = arguments;
    function(thread, bound, MANY(0), MANY(240), MANY(480), MANY(720), SIXTY(960));
  }

  static void work(int* thread, int* bound, Kmp* region) {
    const During inside(region);
    void* const* const a = region->arguments;
    switch (passed(region->count)) {
      case 4:
        return region->function(thread, bound, FOUR(0));
      case 12:
        return region->function(thread, bound, TWELVE(0));
      case 60:
        return region->function(thread, bound, SIXTY(0));
      default:
        return region->call_with_many(thread, bound);
    }
  }
#undef MANY
#undef SIXTY
#undef TWELVE
#undef FOUR
};

/// Before a region: counts it. Returns how many threads are around it.
int enter() {
  counts.regions.fetch_add(1, std::memory_order_relaxed);
  left_alone.say();
  const Region* const around = here.region;
  return around == nullptr ? 1 : around->outer() * around->runtime().num_threads();
}

bool profiled;

void count_theirs() {
  if (profiled && here.region != nullptr && here.region->runtime().num_threads() > 1)
    counts.theirs.fetch_add(1, std::memory_order_relaxed);
}

void end() {
  if (preloaded_twice()) return;
  const bool used = counts.regions.load(std::memory_order_relaxed) != 0;
  if (used && profiled) note_counts();
  if (!used && speaks_for_the_command("PHICOLL_OMP_PROCESS"))
    phicoll_preload_print(
        "phicoll: omp: the program began no parallel region of an OpenMP library that is shared\n");
}

using Last = phicoll_preload::LastWord<end>;

__attribute__((constructor)) void begin() {
  Last::begin();
  profiled = phicoll_preload_profiles() != 0;
  if (preloaded_twice()) {
    phicoll_preload_print("phicoll: omp: preloaded twice: the first library serves\n");
    left_alone.set("the library is preloaded twice");
    return;
  }
  phicoll_preload_begin();
  const char* const barrier = getenv("PHICOLL_OMP_BARRIER");
  if (barrier != nullptr && barrier[0] != '\0' && phicoll_preload_check_barrier(barrier) != PHICOLL_DONE)
    left_alone.set("PHICOLL_OMP_BARRIER: %s", phicoll_preload_error());
}

__attribute__((destructor)) void say_last() {
  Last::say();
}

}  // namespace
}  // namespace phicoll_omp

using phicoll_omp::During;
using phicoll_omp::Gomp;
using phicoll_omp::here;
using phicoll_omp::Kmp;
using phicoll_omp::Outlined;
using phicoll_omp::Place;
using phicoll_omp::Runtime;

PHICOLL_LAST_WORD(phicoll_omp::Last)

#define PHICOLL_EXPORT extern "C" __attribute__((visibility("default")))
#define HERE __builtin_return_address(0)

namespace {

/// The runtime's parallel region with a work of ours. `begin(runtime, function, data)` calls it.
template <class Begin>
inline auto parallel(const void* address, Outlined function, void* data, Begin begin) {
  const Runtime& runtime = *phicoll_omp::caller(address, false).gomp;
  Gomp region(runtime, phicoll_omp::enter(), function, data);
  const During outside(nullptr);
  return begin(runtime, &Gomp::work, static_cast<void*>(&region));
}

/// The form of before GCC 4.9: the encountering thread does its part between this call and GOMP_parallel_end.
inline const Runtime& open(const void* address) {
  phicoll_omp::enter();
  phicoll_omp::begin_serial();
  return *phicoll_omp::caller(address, false).gomp;
}

}  // namespace

PHICOLL_EXPORT void GOMP_parallel(Outlined f, void* data, unsigned threads, unsigned flags) {
  parallel(HERE, f, data,
           [=](const Runtime& r, Outlined work, void* region) { r.parallel(work, region, threads, flags); });
}

PHICOLL_EXPORT int dlclose(void* object) {
  phicoll_omp::keep_runtimes();
  return reinterpret_cast<int (*)(void*)>(dlsym(RTLD_NEXT, "dlclose"))(object);
}

PHICOLL_EXPORT unsigned GOMP_parallel_reductions(Outlined f, void* data, unsigned threads, unsigned flags) {
  // The runtime finds reductions by their places in the data of the region.
  const Runtime& runtime = *phicoll_omp::caller(HERE, false).gomp;
  const During outside(nullptr);
  return runtime.parallel_reductions(f, data, threads, flags);
}

PHICOLL_EXPORT void GOMP_parallel_sections(Outlined f, void* data, unsigned threads, unsigned count,
                                           unsigned flags) {
  parallel(HERE, f, data, [=](const Runtime& r, Outlined work, void* region) {
    r.parallel_sections(work, region, threads, count, flags);
  });
}

#define LOOP(kind)                                                                                    \
  PHICOLL_EXPORT void GOMP_parallel_loop_##kind(Outlined f, void* data, unsigned threads, long start, \
                                                long end, long step, long chunk, unsigned flags) {    \
    parallel(HERE, f, data, [=](const Runtime& r, Outlined work, void* region) {                      \
      r.parallel_loop_##kind(work, region, threads, start, end, step, chunk, flags);                  \
    });                                                                                               \
  }
LOOP(static)
LOOP(dynamic)
LOOP(guided)
LOOP(nonmonotonic_dynamic)
LOOP(nonmonotonic_guided)

#define RUNTIME_LOOP(kind)                                                                            \
  PHICOLL_EXPORT void GOMP_parallel_loop_##kind(Outlined f, void* data, unsigned threads, long start, \
                                                long end, long step, unsigned flags) {                \
    parallel(HERE, f, data, [=](const Runtime& r, Outlined work, void* region) {                      \
      r.parallel_loop_##kind(work, region, threads, start, end, step, flags);                         \
    });                                                                                               \
  }
RUNTIME_LOOP(runtime)
RUNTIME_LOOP(nonmonotonic_runtime)
RUNTIME_LOOP(maybe_nonmonotonic_runtime)

PHICOLL_EXPORT void GOMP_parallel_start(Outlined f, void* data, unsigned threads) {
  open(HERE).parallel_start(f, data, threads);
}
PHICOLL_EXPORT void GOMP_parallel_sections_start(Outlined f, void* data, unsigned threads, unsigned count) {
  open(HERE).parallel_sections_start(f, data, threads, count);
}
#define LOOP_START(kind)                                                                               \
  PHICOLL_EXPORT void GOMP_parallel_loop_##kind##_start(Outlined f, void* data, unsigned threads,      \
                                                        long start, long end, long step, long chunk) { \
    open(HERE).parallel_loop_##kind##_start(f, data, threads, start, end, step, chunk);                \
  }
LOOP_START(static)
LOOP_START(dynamic)
LOOP_START(guided)
PHICOLL_EXPORT void GOMP_parallel_loop_runtime_start(Outlined f, void* data, unsigned threads, long start,
                                                     long end, long step) {
  open(HERE).parallel_loop_runtime_start(f, data, threads, start, end, step);
}
PHICOLL_EXPORT void GOMP_parallel_end() {
  phicoll_omp::caller(HERE, false).gomp->parallel_end();
  phicoll_omp::end_serial();
}

namespace {

/// The barrier after `before`, or the whole of it by the runtime.
template <class Before, class Theirs>
inline void barrier(const void* address, bool kmp, Before before, Theirs theirs) {
  Place* place = here.place;
  if (__builtin_expect(place == nullptr, 0)) place = phicoll_omp::find_place();
  // An object with a runtime of its own is in none of that runtime's teams here.
  const bool astray = __builtin_expect(phicoll_omp::several_runtimes(), 0) && place != nullptr &&
                      &phicoll_omp::reached(address, kmp) != &here.region->runtime();
  if (__builtin_expect(place == nullptr || astray, 0)) {
    phicoll_omp::count_theirs();
    theirs(phicoll_omp::reached(address, kmp));
    return;
  }
  before();
  phicoll_omp::pass(*place);
}

}  // namespace

PHICOLL_EXPORT void GOMP_barrier() {
  barrier(
      HERE, false, [] {}, [](const Runtime& r) { r.barrier(); });
}

// A loop's or sections' end is the nowait one and a barrier: the runtime frees what the construct shared when
// the last thread has ended it, whether they meet in a barrier or not.
PHICOLL_EXPORT void GOMP_loop_end() {
  barrier(
      HERE, false, [] { here.region->runtime().loop_end_nowait(); }, [](const Runtime& r) { r.loop_end(); });
}
PHICOLL_EXPORT void GOMP_sections_end() {
  barrier(
      HERE, false, [] { here.region->runtime().sections_end_nowait(); },
      [](const Runtime& r) { r.sections_end(); });
}

PHICOLL_EXPORT void __kmpc_barrier(void* place, int thread) {
  barrier(
      HERE, true, [] {}, [=](const Runtime& r) { r.kmp_barrier(place, thread); });
}

PHICOLL_EXPORT void __kmpc_fork_call(void* place, int count, phicoll_omp::Micro micro, ...) {
  const Runtime& runtime = *phicoll_omp::caller(HERE, true).kmp;
  if (count > phicoll_omp::most_arguments) {
    phicoll_preload_print("phicoll: omp: a parallel region of %d variables, more than %d\n", count,
                          phicoll_omp::most_arguments);
    abort();
  }
  auto* const words =
      static_cast<void**>(alloca(sizeof(void*) * static_cast<std::size_t>(phicoll_omp::passed(count))));
  va_list arguments;
  va_start(arguments, micro);
  for (int i = 0; i < count; ++i) words[i] = va_arg(arguments, void*);
  va_end(arguments);
  Kmp region(runtime, phicoll_omp::enter(), micro, count, words);
  const During outside(nullptr);
  runtime.kmp_fork_call(place, 1, reinterpret_cast<phicoll_omp::Micro>(&Kmp::work), &region);
}

// The runtime itself calls one of the functions in this file.
PHICOLL_EXPORT void __kmpc_fork_call_if(void* place, int count, phicoll_omp::Micro micro, int condition,
                                        void* arguments) {
  const Runtime& runtime = *phicoll_omp::caller(HERE, true).kmp;
  const During outside(nullptr);
  runtime.kmp_fork_call_if(place, count, micro, condition, arguments);
}

PHICOLL_EXPORT void __kmpc_serialized_parallel(void* place, int thread) {
  phicoll_omp::begin_serial();
  phicoll_omp::reached(HERE, true).kmp_serialized_parallel(place, thread);
}
PHICOLL_EXPORT void __kmpc_end_serialized_parallel(void* place, int thread) {
  phicoll_omp::reached(HERE, true).kmp_end_serialized_parallel(place, thread);
  phicoll_omp::end_serial();
}
