#pragma once

#include <atomic>
#include <vector>

#include "phicoll/messages/transfer.hpp"
#include "phicoll/os/home_process.hpp"
#include "phicoll/waiting/background.hpp"
#include "phicoll/waiting/look_search.hpp"

namespace phicoll {

/// A lock among the threads of a rank. A thread that waits for it lets go of the interpreter's lock first,
/// because the thread that holds this one may need the interpreter to go on.
class ThreadLock {
 public:
  /// `of` knows the interpreter.
  explicit ThreadLock(const Background& of) : of_(of) {}
  bool try_lock() {
    return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire);
  }
  void lock();
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  const Background& of_;
  std::atomic<bool> taken_{false};
};

/// The pending work of one communicator; none while another thread of the rank is in a call of it.
class Ongoing : public Background {
 public:
  /// Whether something that was begun here has not ended, whichever thread goes on with it. Takes no lock.
  virtual bool under_way() const = 0;
  /// Takes back a transfer if it is pending here, since its memory may go.
  virtual void take_back(const Transfer&) {}

 protected:
  ~Ongoing() = default;

 private:
  friend class RankWork;
  std::atomic<bool> listed_{false};  // see RankWork
  Ongoing* next_ = nullptr;          // that was listed before it
};

/// A communicator on which the program makes calls. Others may send to the rank there before it makes a call
/// for messages.
class Addressed {
 public:
  /// Makes the receiving side if messages have come and there is none yet.
  virtual void meet_messages() = 0;

 protected:
  ~Addressed() = default;
};

/// The work that a rank has begun on all its communicators, and what moves it on: any call that waits or
/// looks, on any communicator, does so here (look() and the Background of the rank's ports).
///
/// What has begun something is listed, so a call pays one load if there is nothing else, and otherwise for
/// what there is, not for all communicators. A pass takes finished work off the list; it is listed again when
/// it next begins something. Why nothing under way is ever off the list: see (1) to (3) below.
class RankWork final : public Background {
 public:
  using Progress = void (*)();
  // A pass may happen inside another one, through an operator or a signal handler that makes a call. What the
  // outer pass is in the middle of refuses to move (each has a lock, or a mark, for that); everything else
  // moves, since the inner call may wait for it. Lists may grow and lose entries meanwhile: a lost entry
  // leaves a null, whose place may be reused.
  bool pending() const override;
  bool go_on() override { return go_on_beside(nullptr); }
  bool take_in() override;
  // (1) Work first becomes under way, then is listed (begun). A pass takes it off, then looks whether it is
  //     under way (take_off). Where other threads may be in a pass, both change `listed_` by an exchange, so
  //     a later begun() lists it anew, and after an earlier one the pass sees that it is under way.
  // (2) With one communicator no other thread is in a call of the library, so a cheaper plain load will do.
  // (3) What a call waits for on its own stack need not be listed: that call moves it on.

  /// To be called when `one` has come to be under way.
  void begun(Ongoing& one) {
    if (has_several_communicators() ? !one.listed_.exchange(true, std::memory_order_acq_rel)
                                    : !one.listed_.load(std::memory_order_relaxed))
      put_on_list(one);
  }
  /// What a call looks for that does not wait.
  struct Looked {
    Control& control;
    int rank;
    WaitNote note;  ///< its peer by its number in the communicator
  };
  /// To be called first by a call that does not wait.
  void begin_look() { looks_.begin_look(); }
  /// To be called once it has looked at `own`, if that is not null: goes on with all else. Returns whether
  /// anything moved.
  bool look(const Ongoing* own) {
    const int besides = begun_.load(std::memory_order_relaxed) - (own != nullptr && is_listed(*own) ? 1 : 0);
    return __builtin_expect(besides > 0, 0) && go_on_beside(own);
  }
  /// To be called at its end; `what()` is what it looks for. A rank that looks in vain for long takes in what
  /// has come, as one that waits does, and finds out that it looks for what cannot come.
  template <class What>
  void end_look(bool moved, const What& what) {
    if (moved) return stop_looking();
    const unsigned looks = vain_looks_.load(std::memory_order_relaxed) + 1;
    vain_looks_.store(looks, std::memory_order_relaxed);
    if (__builtin_expect(looks % looks_before_taking_in == 0, 0) && take_in()) return stop_looking();
    if (__builtin_expect(looks % LookSearch::looks_a_gap == 0, 0)) looked_for_long(what());
  }
  bool has_several_communicators() const override {
    return communicators_.load(std::memory_order_relaxed) > 1;
  }
  /// Sets the interpreter that makes the rank's calls, which outlives them; before any of them.
  void set_interpreter(Interpreter* interpreter) {
    interpreter_.store(interpreter, std::memory_order_release);
  }
  Interpreter* interpreter() const override { return interpreter_.load(std::memory_order_acquire); }
  /// How many communicators' work is listed.
  const std::atomic<int>& begun() const { return begun_; }
  /// Whether there may be other threads, or a mark that the next call must end: then calls do not take their
  /// shortest ways.
  bool takes_care() const { return care_.load(std::memory_order_relaxed) > 0; }
  /// To be called by a call that may do something while takes_care().
  void stop_looking() {
    looks_.end();
    if (__builtin_expect(has_mark_.load(std::memory_order_relaxed), 0)) count_mark();
  }
  /// To be called by a call that may not have to wait, while something has begun or takes_care().
  void look_in_passing() {
    stop_looking();
    const unsigned calls = calls_in_passing_.load(std::memory_order_relaxed) + 1;
    calls_in_passing_.store(calls, std::memory_order_relaxed);
    if (calls % calls_before_a_look == 0) go_on();
  }
  void add(Ongoing& one);
  void remove(Ongoing& one);
  /// The same for the communicators on which the program makes calls.
  void begin_communicator(Addressed& one);
  void end_communicator(Addressed& one);
  /// Keeps the rank's other threads from adding anything and from going on with what there is. The thread
  /// that holds it may do both, and may hold it twice.
  class Hold;
  /// Takes back a transfer of any of them.
  void take_back(const Transfer& transfer);
  /// Sets a function that every turn of a wait calls too, for something beside phicoll that goes on only when
  /// called.
  void set_progress(Progress progress) { progress_.store(progress, std::memory_order_relaxed); }

 private:
  template <class One>
  void take_from(std::vector<One*>& all, One& one);
  [[gnu::noinline]] void put_on_list(Ongoing& one);
  static bool is_listed(const Ongoing& one) { return one.listed_.load(std::memory_order_relaxed); }
  void gather_listed();
  bool take_off(Ongoing& one);
  bool go_on_beside(const Ongoing* own);
  [[gnu::noinline]] void looked_for_long(const Looked& what);
  void count_mark();

  static constexpr unsigned looks_before_taking_in = 256;
  static constexpr unsigned calls_before_a_look = 16;  // a look takes longer than a small call
  mutable ThreadLock list_{*this};                     // taken before the lock of one of them
  // The thread that holds list_ by a Hold, by an address of its own: calls by operators and signal handlers
  // on its stack may make and destroy communicators. Only that thread ever finds its own address here, so a
  // relaxed load tells it.
  std::atomic<const void*> holder_{nullptr};
  // Only a Hold changes them.
  std::vector<Ongoing*> all_;
  std::vector<Addressed*> addressed_;
  std::vector<Ongoing*> listed_;
  bool lost_ = false;                            // whether there are nulls in them
  std::atomic<Ongoing*> newly_listed_{nullptr};  // the last of those that are not in listed_ yet
  std::atomic<int> begun_{0};                    // how many are in either, and one for a mark
  std::atomic<Interpreter*> interpreter_{nullptr};
  LookSearch looks_{*this};
  std::atomic<bool> has_mark_{false};  // counted in begun_ and care_
  std::atomic<int> care_{-1};          // communicators beside one, and one for a mark
  std::atomic<Progress> progress_{nullptr};
  std::atomic<int> communicators_{0};
  std::atomic<unsigned> vain_looks_{0};  // threads may lose some of each other's, and of the next
  std::atomic<unsigned> calls_in_passing_{0};
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
