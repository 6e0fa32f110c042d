#include "phicoll/preload/omp/teams.hpp"

#include <pthread.h>
#include <stdlib.h>
#include <strings.h>

#include "phicoll/os/kept_errno.hpp"
#include "phicoll/preload/forks.hpp"
#include "phicoll/preload/patience.hpp"

namespace phicoll_omp {

thread_local Here here __attribute__((tls_model("initial-exec")));
Counts counts;

namespace {

pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;
Team* free_teams;

/// A child of fork counts its own calls.
void forget_counts() {
  counts.regions.store(0, std::memory_order_relaxed);
  counts.theirs.store(0, std::memory_order_relaxed);
}

__attribute__((constructor)) void begin() {
  phicoll_preload::hold_over_forks<pool_lock>();
  pthread_atfork(nullptr, nullptr, forget_counts);
}

// What Region::team_ holds beside teams. Neither is ever dereferenced.
Team being_made;
Team none;

const char* barrier_name() {
  const char* const text = getenv("PHICOLL_OMP_BARRIER");
  return text != nullptr && text[0] != '\0' ? text : "auto";
}

/// The waiting that the user asks of the runtime. By default threads with CPUs of their own look for longer.
bool sleepy() {
  const char* const text = getenv("OMP_WAIT_POLICY");
  return text != nullptr && strcasecmp(text, "passive") == 0;
}

Team* make(int size, int crowded) {
  const phicoll::os::KeptErrno kept;
  PhicollThreads* threads = nullptr;
  if (phicoll_preload_threads(barrier_name(), size, crowded, crowded != 0 || sleepy() ? 1 : 0, &threads) !=
      PHICOLL_DONE) {
    left_alone.set("%s", phicoll_preload_error());
    return nullptr;
  }
  auto* const team = static_cast<Team*>(calloc(1, sizeof(Team)));
  auto* const places = static_cast<Place*>(calloc(static_cast<std::size_t>(size), sizeof(Place)));
  if (team == nullptr || places == nullptr) {
    free(team);
    free(places);
    left_alone.set("no memory for a barrier");
    return nullptr;
  }
  team->size = size;
  team->crowded = crowded;
  team->places = places;
  for (int rank = 0; rank < size; ++rank) places[rank].seat = phicoll_preload_seat(threads, rank);
  return team;
}

/// A free team. What its last threads did there is visible, since they were joined before it was given back
/// under this lock.
Team* take(int size, int crowded) {
  pthread_mutex_lock(&pool_lock);
  Team* team = nullptr;
  for (Team** at = &free_teams; *at != nullptr; at = &(*at)->next)
    if ((*at)->size == size && (*at)->crowded == crowded) {
      team = *at;
      *at = team->next;
      break;
    }
  if (team == nullptr) team = make(size, crowded);
  pthread_mutex_unlock(&pool_lock);
  return team;
}

}  // namespace

// The threads of the team that come first to a barrier compete to take a team; the others wait for the one
// that won, which does not wait for them.
Team* Region::team(int size) {
  Team* team = team_.load(std::memory_order_acquire);
  if (team == nullptr && team_.compare_exchange_strong(team, &being_made, std::memory_order_acq_rel)) {
    const bool fits = size > 1 && size <= phicoll_preload_most_threads() && !left_alone;
    team = fits ? take(size, static_cast<long>(size) * outer_ > runtime_.cpus) : nullptr;
    if (team == nullptr) team = &none;
    team_.store(team, std::memory_order_release);
    left_alone.say();
  }
  phicoll_preload::Patience patience;
  while (team == &being_made) {
    patience.wait();
    team = team_.load(std::memory_order_acquire);
  }
  return team == &none ? nullptr : team;
}

Region::~Region() {
  Team* const team = team_.load(std::memory_order_acquire);
  if (team == nullptr || team == &none) return;
  pthread_mutex_lock(&pool_lock);
  team->next = free_teams;
  free_teams = team;
  pthread_mutex_unlock(&pool_lock);
}

Place* find_place() {
  if (here.region == nullptr || here.barriers == Here::theirs) return nullptr;
  const Runtime& runtime = here.region->runtime();
  Team* const team = here.region->team(runtime.num_threads());
  here.barriers = team != nullptr ? Here::ours : Here::theirs;
  here.place = team != nullptr ? &team->places[runtime.thread_num()] : nullptr;
  return here.place;
}

void begin_serial() {
  if (here.serial++ != 0) return;
  here.before_serial = here.barriers;
  here.barriers = Here::theirs;
  here.place = nullptr;
}

void end_serial() {
  if (here.serial == 0 || --here.serial != 0) return;
  // find_place() finds the same place again.
  here.barriers = here.before_serial == Here::ours ? Here::undecided : here.before_serial;
}

void note_counts() {
  const auto regions = static_cast<unsigned long>(counts.regions.load(std::memory_order_relaxed));
  const auto theirs = static_cast<unsigned long>(counts.theirs.load(std::memory_order_relaxed));
  phicoll_preload_remark("omp: %lu parallel regions", regions);
  if (theirs != 0)
    phicoll_preload_remark(
        "omp: the runtime served %lu barriers, by thread: %s", theirs,
        left_alone ? left_alone.text() : "teams of one thread, or of more than phicoll takes");
}

}  // namespace phicoll_omp
