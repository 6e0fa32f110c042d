#include "phicoll/group/rank_work.hpp"

#include <sched.h>

#include <algorithm>
#include <mutex>

#include "phicoll/memory/own_threads.hpp"

namespace phicoll {

void ThreadLock::lock() {
  if (try_lock()) return;
  tell_of_a_wait();
  while (!try_lock()) sched_yield();
}

bool RankWork::pending() const {
  if (progress_.load(std::memory_order_relaxed) != nullptr) return true;
  const std::unique_lock<ThreadLock> list(list_, std::try_to_lock);
  return list && std::any_of(all_.begin(), all_.end(), [](const Ongoing* one) { return one->pending(); });
}

bool RankWork::go_on() {
  if (const Progress progress = progress_.load(std::memory_order_relaxed)) progress();
  const std::unique_lock<ThreadLock> list(list_, std::try_to_lock);
  bool any = false;
  if (list)
    for (Ongoing* const one : all_) any = one->go_on() || any;
  return any;
}

bool RankWork::take_in() {
  const std::unique_lock<ThreadLock> list(list_, std::try_to_lock);
  bool any = false;
  if (list)
    for (Ongoing* const one : all_) any = one->take_in() || any;
  return any;
}

void RankWork::add(Ongoing& one) {
  const std::lock_guard<ThreadLock> list(list_);
  all_.push_back(&one);
}

void RankWork::remove(Ongoing& one) {
  const std::lock_guard<ThreadLock> list(list_);
  all_.erase(std::remove(all_.begin(), all_.end(), &one), all_.end());
}

void RankWork::forget(Ongoing& one) {
  const std::unique_lock<ThreadLock> list(list_, std::try_to_lock);
  if (list) all_.erase(std::remove(all_.begin(), all_.end(), &one), all_.end());
}

bool RankWork::can_add() const {
  return std::unique_lock<ThreadLock>(list_, std::try_to_lock).owns_lock();
}

void RankWork::take_back(const Transfer& transfer) {
  const std::lock_guard<ThreadLock> list(list_);
  for (Ongoing* const one : all_) one->take_back(transfer);
}

}  // namespace phicoll
