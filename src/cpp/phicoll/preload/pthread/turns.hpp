#pragma once

// A pthread barrier's threads as the ranks of one of phicoll's barriers.
//
// POSIX says how many threads a barrier releases, not which. The first threads that come take its places, one
// each, and keep them: in each round a thread enters its own place. A thread that ends leaves its place to a
// new one. When a thread finds no place, the barrier's later rounds are glibc's: places are locked, the round
// that has begun is filled by whichever threads come, and all later arrivals go to the program's own
// pthread_barrier_t, which no thread has used so far.

#include <pthread.h>
#include <stdint.h>

#include <atomic>

#include "phicoll/preload/engine.hpp"
#include "phicoll/preload/reason.hpp"

namespace phicoll_pthread {

/// A thread that has waited; the next thread that gets this record has the next generation.
struct Record;

struct alignas(128) Place {
  /// Twice the rounds that were entered here, plus 1 where only the holder of the barrier's lock may enter.
  std::atomic<uint64_t> entered;
  /// The rounds that were left here. A place may be entered again, or go, when it is as many as were entered.
  std::atomic<uint64_t> left;
  PhicollSeat* seat;
  const Record* owner;  // under the barrier's lock
  uint32_t owner_generation;
};

/// The places of barriers for one number of threads, which one barrier uses at a time.
struct Places;

/// Why barriers stay with glibc.
extern phicoll_preload::Reason left_alone;

class Turns {
 public:
  enum class Outcome {
    serial,  ///< this thread of all in the round
    other,
    elsewhere  ///< nothing was done: the program's own barrier serves this call
  };

  /// Takes places for the object, with `size` threads (2 or more); null if there is no room, or barriers stay
  /// with glibc.
  static Turns* take(const void* object, int size);
  /// The places taken for the object, if `pointer` is that; else null. `pointer` may be anything.
  static Turns* of(const void* object, const void* pointer);

  Outcome wait();
  /// Waits until all threads of the last round have left, and frees the barrier. No thread may call wait()
  /// any more.
  void give_back();
  /// Whether no thread is in a round.
  bool idle() const;
  /// In a child of fork, whose only thread this is: lets all barriers begin anew, as their other threads are
  /// gone.
  static void begin_anew();

  // Made in zeroed memory.
  Turns() = delete;

 private:
  bool has_places();
  Place* find(bool settle);
  Outcome wait_without_place(Place* own);
  Outcome pass(Place& place, uint64_t round);

  std::atomic<const void*> object_;
  Turns* next_;  // in the list of free ones
  Places* places_;
  int size_;
  uint32_t generation_;  // counts the objects
  std::atomic<uint32_t> elsewhere_;
  uint32_t locked_;
  pthread_mutex_t lock_;
};

/// Barriers that glibc serves after their threads came, or from the beginning.
struct Elsewhere {
  uint64_t crowded;  ///< more threads came than they have places
  uint64_t stayed;   ///< there were no places to be had: see `left_alone`
};

/// Of this process. None are told if a thread that may have been stopped holds the lock.
Elsewhere gone_elsewhere();

}  // namespace phicoll_pthread
