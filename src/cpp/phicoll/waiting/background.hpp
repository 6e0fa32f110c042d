#pragma once

// What a wait goes on with: the rank's other work, the stack that a nonblocking call leaves, and the
// interpreter that makes the rank's calls.

namespace phicoll {

class Control;

/// The interpreter that makes a rank's calls.
class Interpreter {
 public:
  /// A waiting thread calls it now and then. May throw (Python's Ctrl-C).
  virtual void look_for_signals() = 0;
  /// A thread calls it before it gives its CPU away, before a long copy, and when a wait is not over after
  /// the first looks (some hundred nanoseconds). Must not throw.
  virtual void tell_of_a_wait() = 0;
  /// How many threads of this process may make calls of the library.
  virtual int threads() = 0;

 protected:
  ~Interpreter() = default;
};

/// Work of a rank that goes on while it waits for something else.
class Background {
 public:
  virtual bool pending() const = 0;
  /// Goes on without waiting. Returns whether anything was done.
  virtual bool go_on() = 0;
  /// Takes in what others have sent to a rank that waits for long, since they may wait for room. Returns
  /// whether there was any.
  virtual bool take_in() { return false; }
  /// Whether another thread of the rank may make a call meanwhile: each communicator takes one call at a
  /// time.
  virtual bool has_several_communicators() const { return false; }
  /// Null if no interpreter makes the rank's calls.
  virtual Interpreter* interpreter() const { return nullptr; }
  void tell_of_a_wait() const {
    if (Interpreter* const by = interpreter()) by->tell_of_a_wait();
  }

 protected:
  ~Background() = default;
};

/// Suspends a nonblocking call while it waits.
class Elsewhere {
 public:
  using Look = bool (*)(const void* awaited);
  /// Returns when look(awaited) holds or the group is broken.
  virtual void wait(Look look, const void* awaited) = 0;

 protected:
  ~Elsewhere() = default;
};

/// Whether a thread beside the ranks' own may make calls of the library: it may end a rank's wait by a call
/// on another communicator. False without an interpreter, which alone knows its threads.
bool has_further_threads(const Control& group, Interpreter* interpreter);

}  // namespace phicoll
