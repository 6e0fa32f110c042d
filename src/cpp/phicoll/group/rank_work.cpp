#include "phicoll/group/rank_work.hpp"

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <mutex>

namespace phicoll {

namespace {

thread_local char this_thread;  // its address is no other thread's

}  // namespace

void ThreadLock::lock() {
  if (try_lock()) return;
  of_.tell_of_a_wait();
  while (!try_lock()) sched_yield();
}

RankWork::Hold::Hold(RankWork& of, Manner manner)
    : of_(of), again_(of.holder_.load(std::memory_order_relaxed) == &this_thread), held_(true) {
  if (again_) return;
  // The copy of the lock in a forked process may stay locked forever.
  if (manner == try_once || !of.home_.here())
    held_ = of.list_.try_lock();
  else
    of.list_.lock();
  if (held_) of.holder_.store(&this_thread, std::memory_order_relaxed);
}

RankWork::Hold::~Hold() {
  if (again_ || !held_) return;
  if (of_.lost_) {
    const auto lost = [](auto& all) { all.erase(std::remove(all.begin(), all.end(), nullptr), all.end()); };
    lost(of_.all_);
    lost(of_.addressed_);
    lost(of_.listed_);
    of_.lost_ = false;
  }
  of_.holder_.store(nullptr, std::memory_order_relaxed);
  of_.list_.unlock();
}

// Another thread that holds the list goes on with what is there.
bool RankWork::pending() const {
  if (progress_.load(std::memory_order_relaxed) != nullptr) return true;
  if (begun_.load(std::memory_order_relaxed) == 0) return false;
  auto& self = const_cast<RankWork&>(*this);  // gathering the list changes nothing that callers see
  const Hold list(self, Hold::try_once);
  if (!list) return false;
  self.gather_listed();
  return std::any_of(listed_.begin(), listed_.end(),
                     [](const Ongoing* one) { return one != nullptr && one->pending(); });
}

// Goes by index, because an entry's work may make calls that list more entries and end others.
bool RankWork::go_on_beside(const Ongoing* own) {
  if (const Progress progress = progress_.load(std::memory_order_relaxed)) progress();
  if (begun_.load(std::memory_order_relaxed) == 0) return false;
  const Hold list(*this, Hold::try_once);
  if (!list) return false;
  gather_listed();
  bool any = false;
  for (std::size_t i = 0; i < listed_.size(); ++i) {
    if (listed_[i] != nullptr && listed_[i] != own) any = listed_[i]->go_on() || any;
    if (listed_[i] == nullptr || !take_off(*listed_[i])) continue;
    listed_[i] = nullptr;
    lost_ = true;
  }
  return any;
}

// Under the hold of the thread that has the place in listed_. A thread that begins something meanwhile pushes
// it anew.
bool RankWork::take_off(Ongoing& one) {
  if (one.under_way()) return false;
  one.listed_.exchange(false, std::memory_order_acq_rel);
  if (one.under_way() && !one.listed_.exchange(true, std::memory_order_acq_rel)) return false;
  begun_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

// Without a hold: another thread may hold the list for as long as an operator takes. The release makes what
// it has begun visible to the pass that gathers it.
void RankWork::put_on_list(Ongoing& one) {
  one.listed_.store(true, std::memory_order_relaxed);
  begun_.fetch_add(1, std::memory_order_relaxed);
  Ongoing* last = newly_listed_.load(std::memory_order_relaxed);
  do one.next_ = last;
  while (
      !newly_listed_.compare_exchange_weak(last, &one, std::memory_order_release, std::memory_order_relaxed));
}

// There is room for all of them (add), so nothing is lost.
void RankWork::gather_listed() {
  if (newly_listed_.load(std::memory_order_relaxed) == nullptr) return;
  Ongoing* one = newly_listed_.exchange(nullptr, std::memory_order_acquire);
  for (; one != nullptr; one = one->next_) {
    const auto free = lost_ ? std::find(listed_.begin(), listed_.end(), nullptr) : listed_.end();
    if (free != listed_.end())
      *free = one;
    else
      listed_.push_back(one);
  }
}

bool RankWork::take_in() {
  const Hold list(*this, Hold::try_once);
  bool any = false;
  if (!list) return any;
  for (std::size_t i = 0; i < addressed_.size(); ++i)
    if (addressed_[i] != nullptr) addressed_[i]->meet_messages();
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i] != nullptr) any = all_[i]->take_in() || any;
  return any;
}

template <class One>
void RankWork::take_from(std::vector<One*>& all, One& one) {
  const Hold list(*this);
  if (!list) return;
  std::replace(all.begin(), all.end(), &one, static_cast<One*>(nullptr));
  lost_ = true;
}

void RankWork::add(Ongoing& one) {
  const Hold list(*this);
  if (!list) return;
  all_.push_back(&one);
  listed_.reserve(all_.size());
}

// It stays marked as listed, so that nothing lists it again.
void RankWork::remove(Ongoing& one) {
  const Hold list(*this);
  if (!list) return;
  if (one.listed_.exchange(true, std::memory_order_acq_rel)) {
    gather_listed();
    begun_.fetch_sub(1, std::memory_order_relaxed);
    take_from(listed_, one);
  }
  take_from(all_, one);
}

void RankWork::begin_communicator(Addressed& one) {
  const Hold list(*this);
  if (list) addressed_.push_back(&one);
  communicators_.fetch_add(1, std::memory_order_relaxed);
  care_.fetch_add(1, std::memory_order_relaxed);
}

void RankWork::end_communicator(Addressed& one) {
  take_from(addressed_, one);
  communicators_.fetch_sub(1, std::memory_order_relaxed);
  care_.fetch_sub(1, std::memory_order_relaxed);
}

void RankWork::looked_for_long(const Looked& what) {
  if (what.note.kind == WaitNote::Kind::receive && what.note.peer < 0)
    looks_.end();
  else
    looks_.in_vain(what.control, what.rank, what.note);
  count_mark();
}

// While there is a mark, all other calls come by stop_looking(), because something seems to have begun.
void RankWork::count_mark() {
  const bool now = looks_.is_marked();
  if (has_mark_.exchange(now, std::memory_order_relaxed) == now) return;
  begun_.fetch_add(now ? 1 : -1, std::memory_order_relaxed);
  care_.fetch_add(now ? 1 : -1, std::memory_order_relaxed);
}

void RankWork::take_back(const Transfer& transfer) {
  const Hold list(*this);
  if (!list) return;  // a fork, which has copies of what its parent goes on with
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i] != nullptr) all_[i]->take_back(transfer);
}

}  // namespace phicoll
