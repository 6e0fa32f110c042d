#pragma once

// Teams of threads and the barriers they meet in.
//
// Every parallel region goes through this library's entry points, which put a Region on the encountering
// thread's stack and let the runtime's team execute a function of ours with its address. So all threads of a
// team, and no others, agree on one object, however teams are nested and whichever threads the runtime takes.
// The region ends after the runtime has joined the team.

#include <stdint.h>

#include <atomic>

#include "phicoll/preload/engine.hpp"
#include "phicoll/preload/omp/runtimes.hpp"

namespace phicoll_omp {

/// A thread's place in a team's barrier.
struct Place {
  PhicollSeat* seat;
};

/// A barrier that teams of one size use, one team at a time.
struct Team {
  Team* next;  // in the list of free teams
  int size;
  int crowded;
  Place* places;
};

class Region {
 public:
  /// `outer`: the threads of all teams around it, multiplied.
  Region(const Runtime& runtime, int outer) : runtime_(runtime), outer_(outer) {}
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

  const Runtime& runtime() const { return runtime_; }
  int outer() const { return outer_; }
  /// The team for `size` threads; null: the runtime's barriers serve this region. Each thread of the team
  /// asks for it, with the same size, and gets the same.
  Team* team(int size);

 private:
  const Runtime& runtime_;
  int outer_;
  std::atomic<Team*> team_{nullptr};
};

/// Where the calling thread is.
struct Here {
  enum Barriers : unsigned char {
    undecided,  ///< this thread has met no barrier of the region
    ours,
    theirs
  };
  Place* place;  ///< null unless the barriers are ours
  Region* region;
  unsigned serial;  ///< serialized regions within the region that have begun
  Barriers barriers;
  Barriers before_serial;
};

extern thread_local Here here __attribute__((tls_model("initial-exec")));

/// This thread's place in the region's barriers, or null if they are the runtime's.
Place* find_place();

inline void pass(Place& place) {
  phicoll_preload_pass(place.seat);
}

/// The runtime of a call from `address` that is not a region's beginning.
inline const Runtime& reached(const void* address, bool kmp) {
  if (here.region != nullptr && !several_runtimes()) return here.region->runtime();
  const Caller& from = caller(address, kmp);
  return kmp ? *from.kmp : *from.gomp;
}

/// A region's team of one within the region, between two calls by its only thread.
void begin_serial();
void end_serial();

/// Of this process, for the profile.
struct Counts {
  std::atomic<uint64_t> regions;
  std::atomic<uint64_t> theirs;  ///< barriers that stayed with the runtime, in teams of more than one thread
};
extern Counts counts;

/// At the end of the process: adds them to the profile.
void note_counts();

}  // namespace phicoll_omp
