#pragma once

// A rank's communicator as Python holds it: valid until its group ends, whatever still refers to it.

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "bindings/free_threading.hpp"
#include "phicoll/collectives/operators/operators.hpp"
#include "phicoll/errors.hpp"
#include "phicoll/group/communicator.hpp"
#include "phicoll/group/process_group.hpp"
#include "phicoll/waiting/background.hpp"

namespace phicoll {
namespace bindings {

namespace py = pybind11;

/// Called at import, by the thread that Python takes for the main one.
void remember_main_thread();
/// Python, as ranks see it whose calls it makes.
class Python final : public Interpreter {
 public:
  /// Raises what Python's signal handlers raise, in the main thread's waits without the interpreter's lock.
  void look_for_signals() override;
  /// Gives up the interpreter's lock if a call of this thread holds it.
  void tell_of_a_wait() override;
  /// How many threads of Python there are.
  int threads() override;
};

/// A call of the core by Python: it runs without the interpreter's lock, and looks for signals on the main
/// thread.
class Waiting {
 public:
  /// When the lock is given up. Short calls of processes keep it until they have to wait: letting go of it
  /// and taking it back takes as long as such a call. Threads need it to begin their part.
  enum class GiveUp { at_once, to_wait };
  explicit Waiting(GiveUp when);
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  friend class Python;
  PyThreadState* state_ = nullptr;  // null while the lock is held
  Waiting* before_;                 // the call whose operator made this one
};

/// An operator on elements of one type, with the function of a user's own.
class OperatorHandle {
 public:
  static std::shared_ptr<OperatorHandle> predefined(const std::string& op, const std::string& type);
  /// function(left, right) on two memoryviews of bytes; the result goes into the second.
  static std::shared_ptr<OperatorHandle> user(py::function function, std::size_t element_bytes,
                                              bool commutative, unsigned type);
  const Operator& get() const { return op_; }
  /// right = left op right, on this thread alone.
  void combine(std::uintptr_t left, std::uintptr_t right, std::size_t count) const;

 private:
  static void call_user(void* context, void* to, const void* left, const void* right, std::size_t count);

  Operator op_;
  py::function function_;
};

/// Keeps an object until the core drops it, on whatever thread.
std::shared_ptr<void> kept(const py::object& object);

/// Where data lies, as a number; none: in place.
using Address = std::optional<std::uintptr_t>;
/// An address for the core, where null means "in place": an empty buffer gets an address of its own.
void* pointer(Address address);

class CommunicatorHandle;

/// What the communicators and arrays of one rank share.
struct RankState {
  std::shared_ptr<void> memory;              // kept as long as an array lies in it
  std::shared_ptr<ProcessGroup> membership;  // of a process; given up when the rank leaves
  std::mutex mutex;
  std::vector<std::unique_ptr<Communicator>> dropped;    // nothing refers to them; they end with the group
  std::vector<std::weak_ptr<CommunicatorHandle>> parts;  // of Split and Dup
  std::vector<void*> unused;                             // of the heap, to be given back by the rank's thread
  std::vector<std::uintptr_t> locked;                    // words of window locks that the rank holds
  bool open = true;
};

class CommunicatorHandle : public std::enable_shared_from_this<CommunicatorHandle> {
 public:
  /// The world of a group. `membership` ends with close(), `memory` with the last array in it.
  static std::shared_ptr<CommunicatorHandle> world(Communicator& communicator,
                                                   std::shared_ptr<ProcessGroup> membership,
                                                   std::shared_ptr<void> memory);
  /// A communicator of this rank alone, in memory of its own.
  static std::shared_ptr<CommunicatorHandle> alone(std::size_t memory_limit);

  ~CommunicatorHandle();
  CommunicatorHandle(const CommunicatorHandle&) = delete;
  CommunicatorHandle& operator=(const CommunicatorHandle&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// The group whose world this is, if its ranks are processes; else null.
  std::shared_ptr<ProcessGroup> process_group() const { return own_ ? nullptr : state_->membership; }
  /// Whether the calling process has no part in the group: it has ended here, or this is a fork of the
  /// rank's.
  bool closed() const { return communicator_ == nullptr || !communicator_->in_own_process(); }
  /// (rank, reason), or None while the group is whole.
  py::object broken();

  /// The algorithm of an operation that a caller names.
  std::shared_ptr<const AlgorithmSpec> named(Operation operation, const std::string& algorithm);
  void select(const std::string& operation, const std::string& algorithm);
  void reproducible(bool on);
  /// (algorithm, why) of a call on `bytes` bytes.
  py::tuple why(const std::string& operation, std::size_t bytes);

  /// None for a negative color. `memory_limit` as in Communicator::split.
  std::shared_ptr<CommunicatorHandle> split(int color, int key, std::size_t memory_limit);
  std::shared_ptr<CommunicatorHandle> dup(std::size_t memory_limit);
  /// As Communicator::create_group.
  std::shared_ptr<CommunicatorHandle> create_group(const std::vector<int>& members, int tag,
                                                   std::size_t memory_limit);
  /// The ranks' numbers in the whole group.
  std::vector<int> members() const;
  /// Ends what split or dup made.
  void free();
  /// Bytes of the group's heap, given back with the array.
  py::array_t<std::uint8_t> allocate(std::size_t bytes);

  /// Bytes of the group's heap that several ranks use, by their place there: no rank's arrays keep them or
  /// give them back.
  std::uint64_t allocate_shared(std::size_t bytes);
  void release_shared(std::uint64_t offset);
  /// This rank's view of them.
  py::array_t<std::uint8_t> view_shared(std::uint64_t offset, std::size_t bytes);
  /// Releases what this rank's dropped arrays have left, as an allocation does first.
  void give_back();
  /// Memory of `bytes` that every rank has a view of, and its place. The rank that drops the last view gives
  /// it back.
  std::uint64_t allocate_counted(std::size_t bytes);
  py::array_t<std::uint8_t> view_counted(std::uint64_t offset, std::size_t bytes);
  /// A window lock in one word of such memory, held by one rank or shared. Never waits. If it is not free,
  /// and never will be because a rank has left that holds it, or the caller has waited for it since
  /// `since_ns`, longer than the group's timeout, the group breaks, which check() tells.
  bool try_lock(std::uintptr_t word, bool shared, std::int64_t since_ns);
  void unlock(std::uintptr_t word);
  /// Throws if the group is broken; goes on with what is under way.
  void check();

  /// Breaks the group, unless it has no other rank, for what this rank alone may have seen.
  void fail_alone(const py::error_already_set& error) {
    if (size_ > 1) open().fail(error);
  }
  /// Breaks the group for all, from any thread.
  void fail(const std::string& reason);
  /// Leaves the group (a world) with all communicators made from it. Throws while a thread is in a call of
  /// one.
  void close();
  /// The same at the rank's end. If other threads are in calls, the group breaks, which ends them: waits for
  /// that, and returns false. Throws if one of them goes on for longer than `patience`.
  bool leave(std::chrono::nanoseconds patience);

  /// Makes function(communicator) as a call of at most `bytes` bytes. An exception that leaves a call half
  /// done breaks the group.
  template <class Function>
  auto call(std::size_t bytes, Function&& function) -> decltype(function(std::declval<Communicator&>())) {
    const Busy busy(busy_);
    Communicator& communicator = open();
    const Waiting waiting(bytes < large &&
                                  (!one_interpreter_lock || size_ == 1 || communicator.control().shared())
                              ? Waiting::GiveUp::to_wait
                              : Waiting::GiveUp::at_once);
    try {
      return function(communicator);
    } catch (const py::error_already_set& error) {
      communicator.fail(error);
      throw;
    }
  }

 private:
  /// One call at a time: a communicator is its rank's alone. It begins and ends with the interpreter's lock,
  /// if there is one, so that an exchange is not needed, which takes as long as a third of a barrier of one
  /// rank.
  class Busy {
   public:
    explicit Busy(std::atomic<bool>& flag) : flag_(flag) {
      if (!take(flag)) refuse();
    }
    ~Busy() { give_back(flag_); }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

    static bool take(std::atomic<bool>& flag) {
      if (one_interpreter_lock ? flag.load(std::memory_order_relaxed)
                               : flag.exchange(true, std::memory_order_acquire))
        return false;
      if (one_interpreter_lock) flag.store(true, std::memory_order_relaxed);
      return true;
    }
    static void give_back(std::atomic<bool>& flag) { flag.store(false, std::memory_order_release); }
    [[noreturn]] static void refuse();

   private:
    std::atomic<bool>& flag_;
  };

  static constexpr std::size_t large =
      32 * 1024;  // bytes, from which other threads of Python need not wait for a copy
  CommunicatorHandle() = default;
  Communicator& open() const;
  /// Closes unless a thread is in a call.
  bool close_idle();
  template <class Function>
  auto call(Function&& function) -> decltype(function(std::declval<Communicator&>())) {
    return call(large, std::forward<Function>(function));
  }

  std::shared_ptr<CommunicatorHandle> part(std::unique_ptr<Communicator> communicator);
  /// Memory of the group's heap. What arrays have left unused is given back first.
  void* take(std::size_t bytes);
  struct Named {
    Operation operation;
    std::string text;
    std::shared_ptr<const AlgorithmSpec> spec;
  };

  Communicator* communicator_ = nullptr;
  std::unique_ptr<Communicator> own_;  // of a part
  int rank_ = 0;
  int size_ = 0;
  std::atomic<bool> busy_{false};
  std::mutex named_mutex_;
  std::vector<Named> named_;
  std::shared_ptr<RankState> state_;
};

}  // namespace bindings
}  // namespace phicoll
