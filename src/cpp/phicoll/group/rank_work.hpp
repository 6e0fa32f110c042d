#pragma once

#include <atomic>
#include <vector>

#include "phicoll/memory/native_port.hpp"
#include "phicoll/messages/transfer.hpp"
#include "phicoll/os/home_process.hpp"

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

/// A communicator on which the program makes calls. Others may send to the rank there before it makes a call for messages.
class Addressed {
 public:
  /// Makes what takes messages in, if some have come and there is none yet.
  virtual void meet_messages() = 0;

 protected:
  ~Addressed() = default;
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
  /// The same for the communicators on which the program makes calls.
  void begin_communicator(Addressed& one);
  void end_communicator(Addressed& one);
  /// Keeps the rank's other threads from adding anything and from going on with what there is. The thread that holds it may do
  /// both, and may hold it twice.
  class Hold;
  /// Takes back a transfer of any of them.
  void take_back(const Transfer& transfer);
  /// To be called, without any of their locks, when a test or probe has found nothing: a program that tests for long takes in
  /// what has come, as one that waits does.
  void looked_in_vain();
  /// Sets a function that every turn of a wait calls too, for something beside phicoll that goes on only when called.
  void set_progress(Progress progress) { progress_.store(progress, std::memory_order_relaxed); }

 private:
  template <class One>
  void take_from(std::vector<One*>& all, One& one);

  static constexpr unsigned looks_before_taking_in = 256;
  mutable ThreadLock list_;  // taken before the lock of one of them
  // The thread that holds list_ by a Hold, by an address of its own: calls by operators and signal handlers on its stack may make
  // and destroy communicators. Only that thread ever finds its own address here, so a relaxed load tells it.
  std::atomic<const void*> holder_{nullptr};
  // Only a Hold changes them. They may grow and lose entries while their holder goes through them: what is lost leaves a null.
  std::vector<Ongoing*> all_;
  std::vector<Addressed*> addressed_;
  std::atomic<Progress> progress_{nullptr};
  std::atomic<int> communicators_{0};
  std::atomic<unsigned> vain_looks_{0};  // threads may lose some of each other's
  os::HomeProcess home_;
};

class RankWork::Hold {
 public:
  enum Manner { wait, try_once };
  explicit Hold(RankWork& of, Manner manner = wait);
  ~Hold();
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  explicit operator bool() const { return held_; }
  /// Whether this thread held it before.
  bool again() const { return again_; }

 private:
  RankWork& of_;
  bool again_;
  bool held_;
};

}  // namespace phicoll
