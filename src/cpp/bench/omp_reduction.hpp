#pragma once

// OpenMP's `reduction(+)` inside a parallel region, as a compiler for the library that is loaded would make
// it: ramos-hoefler-2013 (004, figure 4.8) compares its reduce with this. GCC's code combines in the program,
// one thread after another; clang's hands its private sums to the library (`__kmpc_reduce`), which combines
// those of many threads in a tree.

#include <dlfcn.h>
#include <omp.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "phicoll/measure/message_buffers.hpp"

namespace phicoll {
namespace bench {

/// The calls that clang emits for a reduction, where the library has them: LLVM's and Intel's.
struct KmpcReduction {
  /// LLVM's openmp/runtime/src/kmp.h.
  struct Ident {
    std::int32_t reserved;
    std::int32_t flags;
    std::int32_t more[2];
    const char* source;
  };
  using Lock = std::int32_t[8];
  using Combine = void (*)(void* to, void* from);
  using Begin = std::int32_t (*)(Ident*, std::int32_t thread, std::int32_t count, std::size_t bytes,
                                 void* list, Combine, Lock*);
  using End = void (*)(Ident*, std::int32_t thread, Lock*);
  using Thread = std::int32_t (*)(Ident*);

  static const KmpcReduction& found() {
    static const KmpcReduction calls;
    return calls;
  }
  bool there() const { return begin != nullptr && end != nullptr && thread != nullptr; }

  Begin begin = reinterpret_cast<Begin>(dlsym(RTLD_DEFAULT, "__kmpc_reduce"));
  End end = reinterpret_cast<End>(dlsym(RTLD_DEFAULT, "__kmpc_end_reduce"));
  Thread thread = reinterpret_cast<Thread>(dlsym(RTLD_DEFAULT, "__kmpc_global_thread_num"));
};

/// Sums of `T`, which all threads of the region make together. There are two totals, and call i adds to total
/// i % 2, so that one barrier a call suffices:
/// (1) The first thread clears the other total before it adds. Call i - 1 has ended for all then, and the
///     first thread has read its total, so nobody touches it.
/// (2) Nobody leaves call i before all have added. So that clearing comes before others add in call i + 1,
///     and the first thread reads call i's total before it enters call i + 1.
template <class T>
class OmpReduction {
 public:
  /// For the first thread's result at `to`, of `count` elements. All threads construct it together.
  OmpReduction(int rank, const measure::MessageBuffers& buffers)
      : rank_(rank),
        count_(static_cast<std::size_t>(buffers.work().count())),
        from_(reinterpret_cast<const T*>(buffers.send())),
        to_(reinterpret_cast<T*>(buffers.receive())) {
#pragma omp single
    for (std::vector<T>& total : totals()) total.assign(count_, T(0));  // the others wait at the end
  }

  void operator()() {
    const std::size_t turn = ++calls_ % 2;
    T* const total = totals()[turn].data();
    if (rank_ == 0) std::memset(totals()[1 - turn].data(), 0, count_ * sizeof(T));
    if (KmpcReduction::found().there())
      by_library(total);
    else if (count_ == 1)
      one_by_gcc(total);
    else
      many_by_gcc(total);
    if (rank_ == 0) std::memcpy(to_, total, count_ * sizeof(T));
  }

 private:
  static std::vector<T> (&totals())[2] {
    static std::vector<T> both[2];
    return both;
  }

  void one_by_gcc(T* total) {
    T& sum = *total;
    const T mine = *from_;
    const int threads = omp_get_num_threads();
#pragma omp for schedule(static, 1) reduction(+ : sum)
    for (int i = 0; i < threads; ++i) sum += mine;
  }
  void many_by_gcc(T* total) {
    const std::size_t count = count_;
    const T* const mine = from_;
    const int threads = omp_get_num_threads();
#pragma omp for schedule(static, 1) reduction(+ : total[:count])
    for (int i = 0; i < threads; ++i)
      for (std::size_t e = 0; e < count; ++e) total[e] += mine[e];
  }

  void by_library(T* total) {
    // 2: clang's code; 16: it can combine by atomic additions, too, which the library takes for few threads.
    static KmpcReduction::Ident ident = {0, 2 | 16, {0, 0}, ";phicoll;reduce;0;0;;"};
    static KmpcReduction::Lock lock = {};
    const KmpcReduction& library = KmpcReduction::found();
    private_.assign(from_, from_ + count_);
    void* list[] = {private_.data(), reinterpret_cast<void*>(count_)};
    const std::int32_t thread = library.thread(&ident);
    switch (library.begin(&ident, thread, 1, sizeof list, list, combine, &lock)) {
      case 1:
        add(total, private_.data(), count_);
        library.end(&ident, thread, &lock);
        break;
      case 2:
        for (std::size_t e = 0; e < count_; ++e) {
#pragma omp atomic
          total[e] += private_[e];
        }
        library.end(&ident, thread, &lock);
        break;
      default:
        break;  // another thread has this one's part
    }
  }
  static void combine(void* to, void* from) {
    void** const left = static_cast<void**>(to);
    void** const right = static_cast<void**>(from);
    add(static_cast<T*>(left[0]), static_cast<const T*>(right[0]), reinterpret_cast<std::size_t>(left[1]));
  }
  static void add(T* to, const T* from, std::size_t count) {
    for (std::size_t e = 0; e < count; ++e) to[e] += from[e];
  }

  int rank_;
  std::size_t count_;
  const T* from_;
  T* to_;
  std::vector<T> private_;
  std::uint64_t calls_ = 0;
};

}  // namespace bench
}  // namespace phicoll
