#pragma once

#include <atomic>
#include <vector>

#include "phicoll/memory/native_port.hpp"
#include "phicoll/messages/transfer.hpp"

namespace phicoll {

/// A lock among the threads of a rank. A thread that waits for it lets go of the interpreter's lock first, because the
/// thread that holds this one may need the interpreter to go on.
class ThreadLock {
 public:
  bool try_lock() {
    return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire);
  }
  void lock();
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

/// The pending work of one communicator; none while another thread of the rank is in a call of it.
class Ongoing : public Background {
 public:
  /// Takes back a transfer if it is pending here, since its memory may go.
  virtual void take_back(const Transfer&) {}

 protected:
  ~Ongoing() = default;
};

/// The work that a rank has begun on all its communicators, which goes on while it waits on any of them.
class RankWork final : public Background {
 public:
  using Progress = void (*)();
  bool pending() const override;
  bool go_on() override;
  bool take_in() override;
  bool has_several_communicators() const override {
    return communicators_.load(std::memory_order_relaxed) > 1;
  }
  void add(Ongoing& one);
  void remove(Ongoing& one);
  /// As remove(), in a fork, whose copy of the list may be locked for ever.
  void forget(Ongoing& one);
  /// Whether add() would not have to wait: this thread itself may be going on with the list.
  bool can_add() const;
  /// Takes back a transfer of any of them.
  void take_back(const Transfer& transfer);
  /// Sets a function that every turn of a wait calls too, for something beside phicoll that goes on only when called.
  void set_progress(Progress progress) { progress_.store(progress, std::memory_order_relaxed); }
  /// Counts the communicators on which the program makes calls.
  void begin_communicator() { communicators_.fetch_add(1, std::memory_order_relaxed); }
  void end_communicator() { communicators_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  mutable ThreadLock list_;  // taken before the lock of one of them
  std::vector<Ongoing*> all_;
  std::atomic<Progress> progress_{nullptr};
  std::atomic<int> communicators_{0};
};

}  // namespace phicoll
