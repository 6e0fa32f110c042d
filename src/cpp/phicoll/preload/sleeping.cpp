#include "phicoll/preload/sleeping.hpp"

#include <sched.h>

#include <algorithm>
#include <climits>

#include "phicoll/arch/arch.hpp"
#include "phicoll/os/clock.hpp"
#include "phicoll/os/cpu_set.hpp"
#include "phicoll/os/futex.hpp"
#include "phicoll/os/kept_errno.hpp"
#include "phicoll/os/nap.hpp"
#include "phicoll/waiting/roaming.hpp"

namespace phicoll_preload {

namespace {

// Some microseconds. Of 0, 2, 4 and 16 yields and 20, 100 and 400 looks, only 0 yields were resolved slower.
constexpr unsigned looks = 100;
constexpr unsigned yields = 4;
// A thread that moves leaves its caches, so it moves after 8 such waits, and if it is still there after 16,
// 32 and so on.
constexpr unsigned waits_before_a_move = 8;
// After this time a Yielder naps at every turn.
constexpr std::int64_t yielding_ns = 5 * 1000 * 1000;
// As long as libgomp's threads look where its regions end. A yield or a nap gives a busy program a turn of
// some ms, for which libgomp's other threads then look.
constexpr std::int64_t looking_ns = 8 * 1000 * 1000;
constexpr std::int64_t longest_sleep_ns = 100 * 1000 * 1000;
// Whose Yielder came last to a wait of more than `looks`; null before. A hint, through which nothing is read.
std::atomic<const Bedroom*> waits_last{nullptr};

}  // namespace

DearYields sleepers_yields;

bool Bedroom::shares_cpu(int rank, SharingWaits& waits, DearYields* yields) {
  if (control_.crowded()) return true;
  const int here = phicoll::os::current_cpu();
  if (!control_.meets(rank, phicoll::any_rank, here)) {
    waits.count = 0;
    return false;
  }
  if (waits.count++ == 0) waits.since_ns = phicoll::os::now_ns();
  if (waits.count < waits_before_a_move || (waits.count & (waits.count - 1)) != 0) return true;
  if (phicoll::os::now_ns() - waits.since_ns > phicoll::Roaming::worth_a_move_ns * waits.count) return true;
  const phicoll::os::KeptErrno kept;
  const std::vector<int> taken = control_.cpus_to_leave(rank);
  if (taken.empty()) return true;
  if (!phicoll::os::move_to_cpus(phicoll::os::allowed_cpus_but(taken))) return true;
  control_.meets(rank, phicoll::any_rank, phicoll::os::current_cpu());
  if (yields != nullptr) yields->forget();
  return false;
}

void Sleeper::wait(Look look, const void* awaited) {
  wake_others();
  if (bedroom_.shares_cpu(rank_, sharing_waits_, nullptr)) {
    if (yield_and_look(look, awaited)) return;
  } else {
    for (unsigned turn = 0; turn < looks; ++turn) {
      if (look(awaited)) return;
      phicoll::arch::pause();
    }
  }
  while (!sleep(look, awaited)) {
  }
}

bool Sleeper::yield_and_look(Look look, const void* awaited) {
  if (look(awaited)) return true;
  std::int64_t began = phicoll::os::now_ns();
  const DearYields::Way way = sleepers_yields.way(began);
  if (way == DearYields::Way::without) return false;
  for (unsigned turn = 0; turn < yields; ++turn) {
    sched_yield();
    const bool over = look(awaited);
    const std::int64_t now = phicoll::os::now_ns();
    if (sleepers_yields.note(way, began, now) || over) return over;
    began = now;
  }
  return false;
}

bool Sleeper::sleep(Look look, const void* awaited) {
  pthread_mutex_lock(&bedroom_.lock_);
  Bedroom::Asleep& mine = bedroom_.all_[static_cast<std::size_t>(rank_)];
  mine.awaited = awaited;
  mine.look.store(look, std::memory_order_relaxed);
  bedroom_.sleepers_.fetch_add(1, std::memory_order_seq_cst);
  pthread_mutex_unlock(&bedroom_.lock_);
  const std::uint32_t sequence = bedroom_.sequence_.load(std::memory_order_acquire);
  phicoll::arch::full_fence();
  if (!look(awaited)) phicoll::os::futex_wait(&bedroom_.sequence_, sequence, longest_sleep_ns, false);
  // Acquire: the waker that has taken it out does not read it any more.
  if (mine.look.load(std::memory_order_acquire) == nullptr) return look(awaited);
  pthread_mutex_lock(&bedroom_.lock_);
  if (mine.look.exchange(nullptr, std::memory_order_relaxed) != nullptr)
    bedroom_.sleepers_.fetch_sub(1, std::memory_order_relaxed);
  pthread_mutex_unlock(&bedroom_.lock_);
  return look(awaited);
}

void Sleeper::wake_others() {
  phicoll::arch::full_fence();
  if (__builtin_expect(bedroom_.sleepers_.load(std::memory_order_relaxed) == 0, 1)) return;
  std::uint32_t over = 0;
  pthread_mutex_lock(&bedroom_.lock_);
  for (Bedroom::Asleep& one : bedroom_.all_) {
    const Look look = one.look.load(std::memory_order_relaxed);
    if (look == nullptr || !look(one.awaited)) continue;
    one.look.store(nullptr, std::memory_order_release);
    ++over;
  }
  if (over != 0) {
    bedroom_.sleepers_.fetch_sub(over, std::memory_order_relaxed);
    bedroom_.sequence_.fetch_add(1, std::memory_order_release);
  }
  pthread_mutex_unlock(&bedroom_.lock_);
  if (over != 0) phicoll::os::futex_wake(&bedroom_.sequence_, INT_MAX, false);
}

void Yielder::begin() {
  turns_ = 0;
  if ((barriers_++ & 63) == 0) bedroom_.control_.note_cpu(rank_, phicoll::os::current_cpu());
}

/// Whether another thread of the team was last seen on this CPU, or another team waits, too.
bool Yielder::meets() {
  return waits_last.load(std::memory_order_relaxed) != &bedroom_ ||
         bedroom_.control_.meets(rank_, phicoll::any_rank, phicoll::os::current_cpu());
}

bool Yielder::go_on() {
  const unsigned turn = turns_++;
  if (turn == 0) {
    shares_ = bedroom_.shares_cpu(rank_, sharing_waits_, &yields_);
    started_ns_ = 0;
  }
  if (!shares_ && turn < looks) {
    phicoll::arch::pause();
    return true;
  }
  if (started_ns_ == 0) {
    started_ns_ = now_ns_ = phicoll::os::now_ns();
    way_ = yields_.way(now_ns_);
    const Bedroom* const last = waits_last.exchange(&bedroom_, std::memory_order_relaxed);
    if (last != nullptr && last != &bedroom_) shares_ = true;
  }
  if (!shares_ && turn % 1024 == 0) shares_ = meets();
  const std::int64_t began = now_ns_, waited = began - started_ns_;
  const bool naps = shares_ ? way_ == DearYields::Way::without || waited > yielding_ns : waited > looking_ns;
  if (naps)
    phicoll::os::nap(phicoll::os::nap_of_wait(waited));
  else if (shares_)
    sched_yield();
  else
    phicoll::arch::pause();
  now_ns_ = phicoll::os::now_ns();
  if (shares_ && !naps && yields_.note(way_, began, now_ns_)) way_ = DearYields::Way::without;
  return true;
}

}  // namespace phicoll_preload
