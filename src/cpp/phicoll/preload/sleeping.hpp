#pragma once

// Waits in a program that does not know of phicoll: its threads may wait long, and other threads may need the
// CPU meanwhile. A waiting thread looks for about as long as a sleep and a wake take. It gives its CPU away
// if another thread of the barrier was last seen on it, because two threads that start on one CPU may stay
// there for long, as each wakes the other; where that goes on, one of them moves. Then the thread sleeps
// (Sleeper), or looks or gives its CPU away for longer (Yielder), as OpenMP's runtimes do.

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "phicoll/ports/native_port.hpp"
#include "phicoll/support/aligned_vector.hpp"
#include "phicoll/waiting/dear_yields.hpp"

namespace phicoll_preload {

using phicoll::DearYields;

class Sleeper;

/// A thread's waits in a row that found another on its CPU.
struct SharingWaits {
  unsigned count = 0;
  std::int64_t since_ns = 0;
};

/// One for all sleepers of the process. With one for each thread and barrier, each would learn by long yields
/// of its own.
extern DearYields sleepers_yields;

/// The memory that a barrier's threads share to sleep and to wake each other.
///
/// A sleeper counts itself, and after a fence looks a last time. A waker has signalled, and after a fence
/// looks for sleepers. So one of the two sees the other. The waker takes out those whose waits are over, so
/// that nobody wakes them once more, and wakes all. It looks in the sleepers' places, under the lock by which
/// they come. A sleeper that was taken out before it slept finds another sequence, or its wait over.
class Bedroom {
 public:
  /// `control` notes the threads' CPUs and is not freed here.
  Bedroom(phicoll::Control& control, int size) : control_(control), all_(static_cast<std::size_t>(size)) {}
  static void* operator new(std::size_t bytes) { return phicoll::allocate_strided(bytes); }
  static void operator delete(void* memory) { std::free(memory); }

 private:
  friend class Sleeper;
  friend class Yielder;
  struct Asleep {
    std::atomic<phicoll::Elsewhere::Look> look{nullptr};  // null: awake, or taken out by a waker
    const void* awaited = nullptr;
  };

  /// Notes the CPU of the calling thread, `rank`. Returns whether another thread was last noted there, or
  /// there are more threads than CPUs. After many short `waits` in a row that found another thread there, the
  /// thread with the highest rank there moves, and `yields`, unless null, are forgotten.
  bool shares_cpu(int rank, SharingWaits& waits, DearYields* yields);

  phicoll::Control& control_;
  alignas(128) std::atomic<std::uint32_t> sleepers_{0};
  alignas(128) std::atomic<std::uint32_t> sequence_{0};
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  std::vector<Asleep> all_;
};

/// One thread's side.
class Sleeper final : public phicoll::Elsewhere {
 public:
  Sleeper(Bedroom& bedroom, int rank) : bedroom_(bedroom), rank_(rank) {}
  void wait(Look look, const void* awaited) override;
  /// Wakes sleepers after signals; call it at the latest when the thread waits itself, and at the end of its
  /// barrier.
  void wake_others();

 private:
  bool sleep(Look look, const void* awaited);
  bool yield_and_look(Look look, const void* awaited);

  Bedroom& bedroom_;
  int rank_;
  SharingWaits sharing_waits_;
};

/// The same without sleeping, for teams that have a CPU for each thread: what comes after the port's looks in
/// place. A thread that has its CPU to itself only looks, for some ms.
class Yielder final : public phicoll::Background {
 public:
  Yielder(Bedroom& bedroom, int rank) : bedroom_(bedroom), rank_(rank) {}
  bool pending() const override { return true; }
  bool go_on() override;
  /// Before a barrier. Now and then it notes the thread's CPU, as one that always comes last never waits.
  void begin();

 private:
  bool meets();

  Bedroom& bedroom_;
  int rank_;
  bool shares_ = false;
  DearYields::Way way_ = DearYields::Way::yields;
  SharingWaits sharing_waits_;
  DearYields yields_;
  unsigned turns_ = 0;
  unsigned barriers_ = 0;
  std::int64_t started_ns_ = 0;
  std::int64_t now_ns_ = 0;  // after the last yield or nap
};

}  // namespace phicoll_preload
