// Replaces a program's calls of pthread_barrier_init, _wait and _destroy.

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "phicoll/preload/last_word.hpp"
#include "phicoll/preload/process.hpp"
#include "phicoll/preload/pthread/turns.hpp"

#define PHICOLL_EXPORT extern "C" __attribute__((visibility("default")))

// Distinguishes copies of this library from each other: all find the first one's by its name.
extern "C" {
char phicoll_pthread_own_mark;
extern __attribute__((visibility("default"), alias("phicoll_pthread_own_mark"))) char phicoll_pthread_library;
}

namespace phicoll_pthread {
namespace {

// glibc's barrier is five words of 32 bits in an object of 32 bytes. Its last eight bytes hold our pointer,
// which is believed only if it leads back to the object: so a barrier that was not initialized through this
// library is glibc's.
constexpr std::size_t pointer_at = 24;
static_assert(sizeof(pthread_barrier_t) == 32, "the object is that of glibc on 64 bits");

using Init = int (*)(pthread_barrier_t*, const pthread_barrierattr_t*, unsigned);
using Other = int (*)(pthread_barrier_t*);

/// A function of glibc's. It is found when this library is loaded, or at a call before that, as by another
/// library's constructor: later the dynamic linker may serve one thread alone, which waits for this one.
template <class Function>
class Theirs {
 public:
  explicit constexpr Theirs(const char* name) : name_(name) {}
  Function find() {
    Function found = found_.load(std::memory_order_relaxed);
    if (found == nullptr) {
      found = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name_));
      found_.store(found, std::memory_order_relaxed);
    }
    return found;
  }
  template <class... Arguments>
  int operator()(Arguments... arguments) {
    const Function found = find();
    return found != nullptr ? found(arguments...) : ENOSYS;
  }

 private:
  const char* name_;
  std::atomic<Function> found_{nullptr};
};
Theirs<Init> their_init("pthread_barrier_init");
Theirs<Other> their_wait("pthread_barrier_wait");
Theirs<Other> their_destroy("pthread_barrier_destroy");

/// Of two copies of this library, this one serves the other as glibc would.
bool second;
std::atomic<uint64_t> barriers_made{0};

Turns* turns_of(const pthread_barrier_t* barrier) {
  void* pointer;
  memcpy(&pointer, reinterpret_cast<const char*>(barrier) + pointer_at, sizeof pointer);
  return Turns::of(barrier, pointer);
}

void note(pthread_barrier_t* barrier, Turns* turns) {
  memcpy(reinterpret_cast<char*>(barrier) + pointer_at, &turns, sizeof turns);
}

bool is_shared(const pthread_barrierattr_t* attributes) {
  int shared = PTHREAD_PROCESS_PRIVATE;
  return attributes != nullptr && pthread_barrierattr_getpshared(attributes, &shared) == 0 &&
         shared == PTHREAD_PROCESS_SHARED;
}

bool preloaded_twice() {
  return dlsym(RTLD_DEFAULT, "phicoll_pthread_library") != &phicoll_pthread_own_mark;
}

void note_counts(unsigned long made) {
  const Elsewhere elsewhere = gone_elsewhere();
  phicoll_preload_remark("pthread: %lu barriers made", made);
  if (elsewhere.crowded != 0)
    phicoll_preload_remark("pthread: %lu barriers went on in glibc: more threads came than they have places",
                           static_cast<unsigned long>(elsewhere.crowded));
  if (elsewhere.stayed != 0)
    phicoll_preload_remark("pthread: %lu barriers stayed with glibc: %s",
                           static_cast<unsigned long>(elsewhere.stayed), left_alone.text());
}

void end() {
  if (second) return;
  const auto made = static_cast<unsigned long>(barriers_made.load(std::memory_order_relaxed));
  if (made != 0 && phicoll_preload_profiles() != 0) note_counts(made);
  if (made == 0 && speaks_for_the_command("PHICOLL_PTHREAD_PROCESS"))
    phicoll_preload_print("phicoll: pthread: the program made no pthread barrier\n");
}

using Last = phicoll_preload::LastWord<end>;

__attribute__((constructor)) void begin() {
  pthread_atfork(nullptr, nullptr, [] { barriers_made.store(0, std::memory_order_relaxed); });
  Last::begin();
  their_init.find();
  their_wait.find();
  their_destroy.find();
  second = preloaded_twice();
  if (second) {
    phicoll_preload_print("phicoll: pthread: preloaded twice: the first library serves\n");
    return;
  }
  const char* const barrier = getenv("PHICOLL_PTHREAD_BARRIER");
  if (barrier != nullptr && barrier[0] != '\0' && phicoll_preload_check_barrier(barrier) != PHICOLL_DONE)
    left_alone.set("PHICOLL_PTHREAD_BARRIER: %s", phicoll_preload_error());  // said when there is a barrier
}

__attribute__((destructor)) void say_last() {
  Last::say();
}

}  // namespace
}  // namespace phicoll_pthread

using phicoll_pthread::Turns;

PHICOLL_LAST_WORD(phicoll_pthread::Last)

// No program's symbol version matters here: glibc's versions of these functions are one function each.

PHICOLL_EXPORT int pthread_barrier_init(pthread_barrier_t* __restrict barrier,
                                        const pthread_barrierattr_t* __restrict attributes,
                                        unsigned count) noexcept {
  // An object that was never destroyed, and whose threads have gone.
  Turns* const before = phicoll_pthread::turns_of(barrier);
  const int result = phicoll_pthread::their_init(barrier, attributes, count);
  if (result != 0) return result;
  if (before != nullptr && before->idle()) before->give_back();
  phicoll_pthread::note(barrier, nullptr);
  if (phicoll_pthread::is_shared(attributes)) return 0;
  phicoll_pthread::barriers_made.fetch_add(1, std::memory_order_relaxed);
  if (count < 2 || count > static_cast<unsigned>(phicoll_preload_most_threads())) return 0;
  if (phicoll_pthread::second) return 0;
  phicoll_pthread::note(barrier, Turns::take(barrier, static_cast<int>(count)));
  phicoll_pthread::left_alone.say();
  return 0;
}

PHICOLL_EXPORT int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  if (Turns* const turns = phicoll_pthread::turns_of(barrier)) {
    const Turns::Outcome outcome = turns->wait();
    if (outcome != Turns::Outcome::elsewhere)
      return outcome == Turns::Outcome::serial ? PTHREAD_BARRIER_SERIAL_THREAD : 0;
    phicoll_pthread::left_alone.say();
  }
  return phicoll_pthread::their_wait(barrier);
}

PHICOLL_EXPORT int pthread_barrier_destroy(pthread_barrier_t* barrier) noexcept {
  Turns* const turns = phicoll_pthread::turns_of(barrier);
  if (turns != nullptr) {
    turns->give_back();
    phicoll_pthread::note(barrier, nullptr);
  }
  return phicoll_pthread::their_destroy(barrier);
}
