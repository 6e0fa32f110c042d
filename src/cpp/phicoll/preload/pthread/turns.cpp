#include "phicoll/preload/pthread/turns.hpp"

#include <stdlib.h>
#include <sys/mman.h>

#include <new>

#include "phicoll/os/kept_errno.hpp"
#include "phicoll/preload/forks.hpp"
#include "phicoll/preload/last_word.hpp"
#include "phicoll/preload/patience.hpp"

namespace phicoll_pthread {

phicoll_preload::Reason left_alone("pthread: the program's barriers stay with glibc");

struct Record {
  std::atomic<uint32_t> generation;
  Record* next;  // in the list of free ones
};

struct Places {
  Places* next;  // in the list of free ones
  int size;
  Place* first;
};

namespace {

constexpr uint64_t lock_bit = 1;
constexpr uint64_t one_round = 2;
constexpr std::size_t most_barriers = std::size_t{1} << 16;

// Everything in this file that barriers share is under this lock.
pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
std::atomic<Turns*> barriers;  // address space for all; also read without the lock
std::size_t begun;             // how many of it have been used
Turns* free_barriers;
Record* free_records;
Places* free_places;
Elsewhere went_elsewhere;
pthread_key_t at_exit;
bool has_key;

struct Guard {
  explicit Guard(pthread_mutex_t& lock) : held(lock) { pthread_mutex_lock(&held); }
  ~Guard() { pthread_mutex_unlock(&held); }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  pthread_mutex_t& held;
};

/// The calling thread, and the places that it found lately: two for each `sets` barriers in a row.
struct Self {
  struct Found {
    const Turns* barrier;
    Place* place;
    uint32_t generation;
  };
  static constexpr std::size_t sets = 8;

  Record* record;
  Found found[sets][2];  // the later one first
};
thread_local Self self __attribute__((tls_model("initial-exec")));

/// Release: what the thread did in its places is visible to whoever sees the new generation.
void end_of_thread(void* record) {
  auto* const ended = static_cast<Record*>(record);
  const Guard guard(shared_lock);
  ended->generation.store(ended->generation.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  ended->next = free_records;
  free_records = ended;
  self = Self{};
}

bool know_this_thread() {
  if (self.record != nullptr) return true;
  const Guard guard(shared_lock);
  if (!has_key) has_key = pthread_key_create(&at_exit, end_of_thread) == 0;
  if (!has_key) {
    left_alone.set("it has taken all keys of threads (pthread_key_create)");
    return false;
  }
  Record* record = free_records;
  if (record != nullptr)
    free_records = record->next;
  else
    record = static_cast<Record*>(calloc(1, sizeof(Record)));
  if (record == nullptr) return false;
  if (pthread_setspecific(at_exit, record) != 0) {
    record->next = free_records;
    free_records = record;
    return false;
  }
  self.record = record;
  return true;
}

const int cpus = phicoll_preload_begin();

__attribute__((constructor)) void begin() {
  phicoll_preload::hold_over_forks<shared_lock>();
  pthread_atfork(nullptr, nullptr, Turns::begin_anew);
}

/// Under the shared lock.
Places* make_places(int size) {
  const char* const text = getenv("PHICOLL_PTHREAD_BARRIER");
  PhicollThreads* threads = nullptr;
  const phicoll::os::KeptErrno kept;
  if (phicoll_preload_threads(text != nullptr && text[0] != '\0' ? text : "auto", size, size > cpus ? 1 : 0,
                              1, &threads) != PHICOLL_DONE) {
    left_alone.set("%s", phicoll_preload_error());
    return nullptr;
  }
  auto* const places = static_cast<Places*>(calloc(1, sizeof(Places)));
  void* memory = nullptr;
  if (places == nullptr ||
      posix_memalign(&memory, alignof(Place), sizeof(Place) * static_cast<std::size_t>(size)) != 0) {
    free(places);
    left_alone.set("no memory for a barrier");
    return nullptr;
  }
  places->size = size;
  places->first = static_cast<Place*>(memory);
  for (int i = 0; i < size; ++i) {
    Place* const place = new (&places->first[i]) Place{};
    place->seat = phicoll_preload_seat(threads, i);
  }
  return places;
}

/// Places whose earlier users have left: their seats have all been passed equally often.
Places* take_places(int size) {
  const Guard guard(shared_lock);
  for (Places** at = &free_places; *at != nullptr; at = &(*at)->next)
    if ((*at)->size == size) {
      Places* const found = *at;
      *at = found->next;
      return found;
    }
  return left_alone ? nullptr : make_places(size);
}

}  // namespace

Turns* Turns::take(const void* object, int size) {
  const Guard guard(shared_lock);
  if (left_alone) {
    ++went_elsewhere.stayed;
    return nullptr;
  }
  Turns* all = barriers.load(std::memory_order_relaxed);
  if (all == nullptr) {
    void* const space = mmap(nullptr, most_barriers * sizeof(Turns), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (space == MAP_FAILED) return nullptr;
    all = static_cast<Turns*>(space);
    barriers.store(all, std::memory_order_relaxed);
  }
  Turns* taken = free_barriers;
  if (taken != nullptr)
    free_barriers = taken->next_;
  else if (begun < most_barriers)
    taken = all + begun++;
  else
    return nullptr;
  taken->object_.store(object, std::memory_order_relaxed);
  taken->places_ = nullptr;
  taken->size_ = size;
  ++taken->generation_;
  taken->elsewhere_.store(0, std::memory_order_relaxed);
  taken->locked_ = 0;
  pthread_mutex_init(&taken->lock_, nullptr);
  return taken;
}

Turns* Turns::of(const void* object, const void* pointer) {
  Turns* const all = barriers.load(std::memory_order_relaxed);
  const uintptr_t offset = reinterpret_cast<uintptr_t>(pointer) - reinterpret_cast<uintptr_t>(all);
  if (pointer == nullptr || all == nullptr || offset >= most_barriers * sizeof(Turns) ||
      offset % sizeof(Turns) != 0)
    return nullptr;
  Turns* const found = all + offset / sizeof(Turns);
  return found->object_.load(std::memory_order_relaxed) == object ? found : nullptr;
}

/// Under the lock. Without places, the barrier goes on elsewhere.
bool Turns::has_places() {
  if (places_ != nullptr) return true;
  if (elsewhere_.load(std::memory_order_relaxed) != 0) return false;
  places_ = take_places(size_);
  if (places_ != nullptr) return true;
  elsewhere_.store(1, std::memory_order_release);
  const Guard shared(shared_lock);
  ++went_elsewhere.stayed;
  return false;
}

/// This thread's place: as noted, or as the barrier knows it, or, with `settle`, one whose owner has ended or
/// that has none.
Place* Turns::find(bool settle) {
  if (!know_this_thread()) return nullptr;
  auto& noted = self.found[(reinterpret_cast<uintptr_t>(this) / sizeof(Turns)) % Self::sets];
  for (const Self::Found& one : noted)
    if (one.barrier == this && one.generation == generation_) return one.place;
  const Guard guard(lock_);
  if (!has_places()) return nullptr;
  const uint32_t own = self.record->generation.load(std::memory_order_relaxed);
  Place* empty = nullptr;
  Place* found = nullptr;
  for (int i = 0; i < size_ && found == nullptr; ++i) {
    Place& place = places_->first[i];
    if (place.owner == self.record && place.owner_generation == own) found = &place;
    const bool vacant = place.owner == nullptr ||
                        place.owner->generation.load(std::memory_order_acquire) != place.owner_generation;
    if (vacant && empty == nullptr) empty = &place;
  }
  if (found == nullptr && settle && locked_ == 0 && empty != nullptr) {
    empty->owner = self.record;
    empty->owner_generation = own;
    found = empty;
  }
  if (found != nullptr) {
    noted[1] = noted[0];
    noted[0] = Self::Found{this, found, generation_};
  }
  return found;
}

Turns::Outcome Turns::wait() {
  if (elsewhere_.load(std::memory_order_acquire) != 0) return Outcome::elsewhere;
  Place* const place = find(true);
  if (__builtin_expect(place != nullptr, 1)) {
    uint64_t entered = place->entered.load(std::memory_order_relaxed);
    // Only its owner enters a place until it is locked, so this fails then and only then. Acquire: of what
    // another thread, which entered in the owner's place, did there.
    if (__builtin_expect((entered & lock_bit) == 0, 1) &&
        place->entered.compare_exchange_strong(entered, entered + one_round, std::memory_order_acquire))
      return pass(*place, entered / one_round + 1);
  }
  return wait_without_place(place);
}

Turns::Outcome Turns::pass(Place& place, uint64_t round) {
  phicoll_preload_pass(place.seat);
  const bool first = &place == places_->first;
  // Release: the seat may be passed by another thread, or the places go to another barrier. Nothing of this
  // object is used afterwards.
  place.left.store(round, std::memory_order_release);
  return first ? Outcome::serial : Outcome::other;
}

/// A round consists of the next `size` arrivals. In the round that has begun, some places were entered once
/// more than the others; each further arrival fills one of the others. When none is left, or none has been
/// entered, the next arrival begins a round that is wholly glibc's.
Turns::Outcome Turns::wait_without_place(Place* own) {
  Place* taken = nullptr;
  uint64_t round = 0;
  {
    const Guard guard(lock_);
    if (elsewhere_.load(std::memory_order_relaxed) != 0 || !has_places()) return Outcome::elsewhere;
    Place* const places = places_->first;
    if (locked_ == 0) {
      locked_ = 1;
      for (int i = 0; i < size_; ++i) places[i].entered.fetch_or(lock_bit, std::memory_order_acq_rel);
    }
    const auto entered = [](const Place& place) {
      return place.entered.load(std::memory_order_relaxed) / one_round;
    };
    for (int i = 0; i < size_; ++i)
      if (entered(places[i]) > round) round = entered(places[i]);
    if (own != nullptr && entered(*own) < round) taken = own;
    for (int i = 0; i < size_ && taken == nullptr; ++i)
      if (entered(places[i]) < round) taken = &places[i];
    if (taken == nullptr) {
      elsewhere_.store(1, std::memory_order_release);
      const Guard shared(shared_lock);
      ++went_elsewhere.crowded;
      return Outcome::elsewhere;
    }
    taken->entered.store(round * one_round + lock_bit, std::memory_order_relaxed);
    // The thread that entered here before may still be on its way out; nothing keeps it, since all have
    // arrived in its round.
    phicoll_preload::Patience patience;
    while (taken->left.load(std::memory_order_acquire) != round - 1) patience.wait();
  }
  return pass(*taken, round);
}

bool Turns::idle() const {
  if (places_ == nullptr) return true;
  for (int i = 0; i < size_; ++i) {
    const Place& place = places_->first[i];
    if (place.left.load(std::memory_order_acquire) !=
        place.entered.load(std::memory_order_relaxed) / one_round)
      return false;
  }
  return true;
}

void Turns::give_back() {
  phicoll_preload::Patience patience;
  while (!idle()) patience.wait();
  {
    // A thread may hold the lock still, though its round is over, when this one has taken part in that round.
    const Guard guard(lock_);
  }
  pthread_mutex_destroy(&lock_);
  const Guard guard(shared_lock);
  object_.store(nullptr, std::memory_order_relaxed);
  if (places_ != nullptr) {
    for (int i = 0; i < size_; ++i) {
      Place& place = places_->first[i];
      place.entered.store(0, std::memory_order_relaxed);
      place.left.store(0, std::memory_order_relaxed);
      place.owner = nullptr;
    }
    places_->next = free_places;
    free_places = places_;
    places_ = nullptr;
  }
  next_ = free_barriers;
  free_barriers = this;
}

// The barriers' own locks may have been held. Nobody gets the places in use: some of their seats may have
// been passed more often than others.
void Turns::begin_anew() {
  Turns* const all = barriers.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < begun; ++i) {
    pthread_mutex_init(&all[i].lock_, nullptr);
    all[i].places_ = nullptr;
    all[i].locked_ = 0;
    ++all[i].generation_;
  }
  went_elsewhere = Elsewhere{};
}

Elsewhere gone_elsewhere() {
  if (!phicoll_preload::try_to_lock(&shared_lock)) return Elsewhere{};
  const Elsewhere found = went_elsewhere;
  pthread_mutex_unlock(&shared_lock);
  return found;
}

}  // namespace phicoll_pthread
