#pragma once

#include <atomic>
#include <vector>

#include "phicoll/memory/native_port.hpp"
#include "phicoll/messages/transfer.hpp"

namespace phicoll {

/// A lock among the threads of a rank, which waits without the interpreter's: who holds this one may need that.
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

/// What goes on of one communicator. Another thread of the rank may be in a call of it; then nothing is pending.
class Ongoing : public Background {
 public:
  /// Takes back a transfer if it is one of these: its memory may go.
  virtual void take_back(const Transfer&) {}

 protected:
  ~Ongoing() = default;
};

/// What a rank has begun on all its communicators, which goes on while it waits on any of them.
class RankWork final : public Background {
 public:
  bool pending() const override;
  bool go_on() override;
  void add(Ongoing& one);
  void remove(Ongoing& one);
  /// Takes back a transfer of any of them.
  void take_back(const Transfer& transfer);

 private:
  mutable ThreadLock list_;  // taken before the lock of one of them
  std::vector<Ongoing*> all_;
};

}  // namespace phicoll
