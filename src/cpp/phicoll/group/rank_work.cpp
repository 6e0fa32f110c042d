#include "phicoll/group/rank_work.hpp"

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <mutex>

#include "phicoll/memory/own_threads.hpp"

namespace phicoll {

namespace {

thread_local char this_thread;  // its address is no other thread's

}  // namespace

void ThreadLock::lock() {
  if (try_lock()) return;
  tell_of_a_wait();
  while (!try_lock()) sched_yield();
}

RankWork::Hold::Hold(RankWork& of, Manner manner)
    : of_(of), again_(of.holder_.load(std::memory_order_relaxed) == &this_thread), held_(true) {
  if (again_) return;
  // In a fork the copy of the lock may be locked for ever.
  if (manner == try_once || !of.home_.here())
    held_ = of.list_.try_lock();
  else
    of.list_.lock();
  if (held_) of.holder_.store(&this_thread, std::memory_order_relaxed);
}

RankWork::Hold::~Hold() {
  if (again_ || !held_) return;
  const auto lost = [](auto& all) { all.erase(std::remove(all.begin(), all.end(), nullptr), all.end()); };
  lost(of_.all_);
  lost(of_.addressed_);
  of_.holder_.store(nullptr, std::memory_order_relaxed);
  of_.list_.unlock();
}

bool RankWork::pending() const {
  if (progress_.load(std::memory_order_relaxed) != nullptr) return true;
  const std::unique_lock<ThreadLock> list(list_, std::try_to_lock);
  return list && std::any_of(all_.begin(), all_.end(), [](const Ongoing* one) { return one->pending(); });
}

// Not within itself: what goes on further up the stack is in the middle of something.
bool RankWork::go_on() {
  if (const Progress progress = progress_.load(std::memory_order_relaxed)) progress();
  const Hold list(*this, Hold::try_once);
  bool any = false;
  if (!list || list.again()) return any;
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i] != nullptr) any = all_[i]->go_on() || any;
  return any;
}

bool RankWork::take_in() {
  const Hold list(*this, Hold::try_once);
  bool any = false;
  if (!list || list.again()) return any;
  for (std::size_t i = 0; i < addressed_.size(); ++i)
    if (addressed_[i] != nullptr) addressed_[i]->meet_messages();
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i] != nullptr) any = all_[i]->take_in() || any;
  return any;
}

template <class One>
void RankWork::take_from(std::vector<One*>& all, One& one) {
  const Hold list(*this);
  if (list) std::replace(all.begin(), all.end(), &one, static_cast<One*>(nullptr));
}

void RankWork::add(Ongoing& one) {
  const Hold list(*this);
  if (list) all_.push_back(&one);
}

void RankWork::remove(Ongoing& one) {
  take_from(all_, one);
}

void RankWork::begin_communicator(Addressed& one) {
  const Hold list(*this);
  if (list) addressed_.push_back(&one);
  communicators_.fetch_add(1, std::memory_order_relaxed);
}

void RankWork::end_communicator(Addressed& one) {
  take_from(addressed_, one);
  communicators_.fetch_sub(1, std::memory_order_relaxed);
}

void RankWork::take_back(const Transfer& transfer) {
  const Hold list(*this);
  if (!list) return;  // a fork, which has copies of what its parent goes on with
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (all_[i] != nullptr) all_[i]->take_back(transfer);
}

void RankWork::looked_in_vain() {
  const unsigned looks = vain_looks_.load(std::memory_order_relaxed) + 1;
  vain_looks_.store(looks, std::memory_order_relaxed);
  if (looks % looks_before_taking_in == 0) take_in();
}

}  // namespace phicoll
